// Warns of an argv that carries a program as text: what it does is in a word that no check of files can see.

import { basename } from "node:path";

const PAYLOADS: readonly { readonly programs: RegExp; readonly options: RegExp }[] = [
  { programs: /^(?:sh|bash|dash|zsh|ksh|fish)$/, options: /^-[a-z]*c[a-z]*$/ },
  { programs: /^cmd(?:\.exe)?$/i, options: /^\/[ck]$/i },
  { programs: /^(?:powershell|pwsh)(?:\.exe)?$/i, options: /^-(?:c|command|e|ec|encodedcommand)$/i },
  { programs: /^(?:node|bun|deno)$/, options: /^(?:-[ep]|-pe|--eval|--print|eval)$/ },
  { programs: /^(?:python[\d.]*|pypy[\d.]*)$/, options: /^-[a-zA-Z]*c$/ },
  { programs: /^(?:perl|ruby)$/, options: /^-[a-zA-Z]*e$/ },
  { programs: /^php$/, options: /^-r$/ },
];

export function describePayload(argv: readonly string[]): string[] {
  const program = basename(argv[0] ?? "");
  const words = argv.slice(1);
  const payload = PAYLOADS.find(
    ({ programs, options }) => programs.test(program) && words.some((word) => options.test(word)),
  );
  if (payload === undefined) return [];
  const warnings = [`the payload is code: ${program} runs a program that stands in its arguments`];
  const isLogin = /sh$/.test(program) && words.some((word) => /^-[a-z]*l|^--login$/.test(word));
  if (isLogin) warnings.push(`${program} is a login shell here: without its start files PATH is another`);
  return warnings;
}
