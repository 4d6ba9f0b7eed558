// Code that comes from elsewhere or is hidden: downloads piped into a shell, decoded scripts, text in other languages, commands without a
// name that can be read.

import { optionsOf, type ShellCommand } from "../command.ts";
import { FOREIGN, isOpen, isWhollyOpen, OPEN, showField } from "../fields.ts";
import { printedBy } from "../output.ts";
import { readsShellInput, SHELLS } from "../shell-arguments.ts";
import { breadthOf } from "../targets.ts";
import { unwrap } from "../unwrap.ts";
import { describeManagementTask } from "./databases.ts";
import { CANNOT_BE_READ, type Facts, quote, type Rule } from "./rule.ts";

const DOWNLOADERS =
  /^(?:curl|wget|wget2|fetch|aria2c|axel|http|https|httpie|xh|lynx|w3m|nc|ncat|netcat|socat|gh|ftp|tftp|scp|sftp|rsync|ssh|invoke-webrequest|iwr|irm)$/i;
const DECODERS =
  /^(?:base32|base64|basenc|xxd|od|uudecode|openssl|gpg|gunzip|zcat|xz|xzcat|bzcat|zstdcat|unzip|rev|tr|sed|awk|perl|python3?|ruby|node|tac|dd|printf|echo|jq|cut|paste|head|tail|hexdump)$/;
const INTERPRETERS =
  /^(?:python[\d.]*|pypy3?|perl[\d.]*|ruby[\d.]*|node|nodejs|bun|deno|php[\d.]*|lua[\d.]*|osascript|tclsh|pwsh|powershell|[gmn]?awk)$/i;

const FROM_NET = "runs code that is downloaded in the same breath";
const HIDDEN = `runs code that ${CANNOT_BE_READ}`;

/** Of shells, `eval`, `source` and interpreters: where their code comes from. */
export const codeSource: Rule = (command) => {
  const { name, args, substitutions, input } = command;
  const isShell = SHELLS.has(name);
  const isInterpreter = INTERPRETERS.test(name);
  const isSource = name === "source" || name === ".";
  const isFed = readsShellInput(command);
  if (
    !isFed &&
    !isShell &&
    !isInterpreter &&
    !isSource &&
    name !== "eval" &&
    name !== "iex" &&
    name !== "invoke-expression"
  )
    return undefined;
  const isFromSubstitution = isInterpreter && args.find((arg) => !arg.startsWith("-")) === OPEN;
  const isCode =
    isFromSubstitution ||
    isSource ||
    name === "eval" ||
    isShell ||
    (isInterpreter && inlineCode(command) !== undefined);
  if (isCode && substitutions.some((one) => DOWNLOADERS.test(one.name))) return FROM_NET;
  const readsInput = isFed || (isInterpreter && readsProgram(args));
  const printed = readsInput ? (input.text ?? printedBy(input.from.at(-1))) : undefined;
  if (printed !== undefined && isWhollyOpen(printed)) return HIDDEN;
  if (readsInput && input.text === undefined && input.from.length > 0) {
    if (input.from.some((one) => DOWNLOADERS.test(one.name))) return FROM_NET;
    const last = input.from.at(-1);
    if (printedBy(last) === undefined && last !== undefined && DECODERS.test(last.name)) return HIDDEN;
  }
  if (!isShell && name !== "eval") return undefined;
  const scripts =
    name === "eval"
      ? args.length === 0
        ? []
        : [args.join(" ")]
      : unwrap(command).flatMap((inner) => ("script" in inner ? [inner.script] : []));
  if (!scripts.some(isWhollyOpen)) return undefined;
  if (substitutions.length === 0) return HIDDEN;
  return substitutions.some((one) => DECODERS.test(one.name)) ? HIDDEN : undefined;
};

/** `python -`, `python` alone: its program is its input. */
function readsProgram(args: readonly string[]): boolean {
  return args.every((arg) => arg === "-" || /^-[uBEsSIqw]+$/.test(arg));
}

function inlineCode({ name, args, input }: ShellCommand): string | undefined {
  if (/awk$/.test(name)) return args.filter((arg) => arg.includes("(") || arg.includes("|")).join("\n");
  if (name === "deno") return args[0] === "eval" ? args[1] : undefined;
  const at = args.findIndex((arg) =>
    /^(?:-[A-Za-z]*[cerpE]|--eval|--print|-Command|-EncodedCommand)$/.test(arg),
  );
  if (at !== -1) return args.slice(at + 1).join("\n");
  return readsProgram(args) ? (input.text ?? printedBy(input.from.at(-1))) : undefined;
}

const REMOVERS =
  /(?:\brmtree|\brmSync|\brmdirSync|\brm_rf|\brm_r|\bremove_tree|\bremoveSync|\brimraf(?:\.sync|Sync)?|\bfs\.rm|\bdelete_directory)\b\s*\(?\s*(?:(["'`])(.*?)\1)?/g;
const TEXTS = /(["'`])((?:\\.|(?!\1)[^\\\n])*)\1/g;
/** Before a text that is only shown. */
const PRINTS = /(?:\bconsole\.\w+|\bprint(?:f|ln)?|\bputs|\becho|\bsay|\bwrite)\s*\(?\s*$/;

/** Text in another language: what it hands to a shell, and folders that it removes. Looks at words alone. */
export function describeInline(
  command: ShellCommand,
  facts: Facts,
  judgeText: (text: string) => string | undefined,
): string | undefined {
  if (!INTERPRETERS.test(command.name)) return undefined;
  const task = describeManagementTask(command.args);
  if (task !== undefined) return task;
  const code = inlineCode(command);
  if (code === undefined) return undefined;
  if (/^-EncodedCommand$/i.test(command.args.find((arg) => /^-e/i.test(arg)) ?? "")) return HIDDEN;
  for (const [, mark, path = ""] of code.matchAll(REMOVERS)) {
    if (mark === undefined) return `removes folders that ${CANNOT_BE_READ}`;
    if (breadthOf(path, command.directories, facts) !== "narrow") return `removes ${quote(path)}`;
  }
  if (/^(?:pwsh|powershell)$/i.test(command.name)) return judgeText(showField(code));
  // ["rm", "-rf", "/"] is one command.
  const lists = [...code.matchAll(/\[\s*((?:["'][^"'\n]*["']\s*,?\s*)+)\]/g)].map(([, list = ""]) =>
    list.replaceAll(/["'],?\s*["']?/g, " ").replaceAll(",", " "),
  );
  const texts = [...code.matchAll(TEXTS)]
    .filter(({ index }) => !PRINTS.test(code.slice(Math.max(0, index - 40), index)))
    .map(([, , text = ""]) => text)
    .filter((text) => /\w\s+\S|^\s*:\(\)/.test(text));
  for (const text of [...lists, ...texts]) {
    if (
      !/^[\s\\]*(?:\/\S*\/)?(?:sudo|rm|dd|mkfs|shred|find|git|curl|wget|chmod|chown|kill|shutdown|reboot|bash|sh|zsh|:\(\))\b|^:\(\)/.test(
        text,
      )
    )
      continue;
    const found = judgeText(text);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A command whose name only the run knows: its arguments decide. */
export const nameless: Rule = ({ name, args, directories, substitutions }, facts) => {
  if (
    isWhollyOpen(name) &&
    (name.includes(FOREIGN) || substitutions.some((one) => DOWNLOADERS.test(one.name)))
  )
    return `has a name that ${CANNOT_BE_READ}: it may be any command`;
  if (!isOpen(name) && !name.includes("\ue001")) return undefined;
  const { short, long, rest } = optionsOf(args);
  const isBroad = rest.some((target) => breadthOf(target, directories, facts) === "broad");
  const isForced = /^(?=.*[rR])(?=.*f)/.test(short) && short.length <= 4;
  const isDestructive =
    isForced ||
    (isBroad &&
      (/[rRf]/.test(short) ||
        long.some((option) => /^--(?:recursive|force|no-preserve-root|delete)$/.test(option)))) ||
    args.includes("-delete") ||
    long.includes("--hard") ||
    rest.some((word) => /^of=\/dev\//.test(word));
  return isDestructive ? `has a name that ${CANNOT_BE_READ}, and arguments that destroy` : undefined;
};
