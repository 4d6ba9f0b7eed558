// Turns a host's command, a shell string or a program with args, into argv by mechanical steps, each named. Whatever is left over is a
// reason, never a guess.

import type { Provider } from "../profile/events.ts";
import { describeVariable, literalPlaceholder, placeholderOf, replaceBraced } from "./placeholders.ts";
import { type Segment, type SplitWord, splitWords } from "./split-words.ts";

export type TranslatedCommand =
  | { readonly argv: string[]; readonly translations: string[]; readonly warnings: string[] }
  | { readonly reason: string };

const GIT_ROOT = "$(git rev-parse --show-toplevel)";

/** Says why a word is refused. Never leaves this module. */
class Untranslatable extends Error {}

/** A shell string. */
export function translateShellText(text: string, provider: Provider): TranslatedCommand {
  const split = splitWords(text);
  if ("reason" in split) return split;
  return attempt(() => {
    const translations = new Set<string>();
    const argv = split.words.map((word) => translateWord(word, provider, translations));
    const isQuoted = split.words.some(({ segments }) => segments.some(({ quoting }) => quoting !== "none"));
    return {
      argv,
      translations: [isQuoted ? "quoted words → argv" : "plain words → argv", ...translations],
      warnings: [],
    };
  });
}

/** claude's exec form: `command` is one program name, however it is written. */
export function translateExecForm(
  command: string,
  args: readonly string[],
  provider: Provider,
): TranslatedCommand {
  return attempt(() => {
    const translations = new Set(["program with args → argv"]);
    const warnings: string[] = [];
    const argv = [command, ...args].map((word) => {
      refuseLiteral(word);
      refuseBareHostVariable(word, provider);
      const { text, translations: made } = replaceBraced(word, provider);
      for (const one of made) translations.add(one);
      if (/\$\{?[A-Za-z_]/.test(text) || text.startsWith("~/"))
        warnings.push(`${JSON.stringify(word)} stays as it is: in this form nothing expands it`);
      return text;
    });
    if (/\s/.test(command))
      warnings.push(
        `with args, ${JSON.stringify(command)} is the name of one program, blanks and all: is there such a program?`,
      );
    return { argv, translations: [...translations], warnings };
  });
}

function attempt(translate: () => TranslatedCommand): TranslatedCommand {
  try {
    return translate();
  } catch (error) {
    if (error instanceof Untranslatable) return { reason: error.message };
    throw error;
  }
}

function translateWord({ segments }: SplitWord, provider: Provider, translations: Set<string>): string {
  // What was literal is looked at as a whole, with a NUL where something of ours stands: {ho'me}' is {home} once it is one word.
  let literal = "";
  const word = segments.map((segment, index) => {
    const isHead = index === 0;
    const next = segments[index + 1];
    if (segment.kind === "text") {
      const text = translateText(segment, { isHead, provider, translations });
      literal += text.literal;
      return text.word;
    }
    literal += "\0";
    if (segment.kind === "substitution") {
      if (segment.text !== GIT_ROOT) throw new Untranslatable(`command substitution ${segment.text}`);
      translations.add(`${GIT_ROOT} → {project_dir}`);
      return "{project_dir}";
    }
    return translateVariable(segment, { isHead, next, provider, translations });
  });
  refuseLiteral(literal);
  return word.join("");
}

interface Context {
  readonly isHead: boolean;
  readonly provider: Provider;
  readonly translations: Set<string>;
}

function translateText(
  { value, quoting }: Segment & { kind: "text" },
  { isHead, provider, translations }: Context,
): { word: string; literal: string } {
  if (quoting === "none") return translateTilde(value, { isHead, provider, translations });
  if (quoting === "double") return { word: value, literal: value };
  refuseBareHostVariable(value, provider);
  const { text, translations: made } = replaceBraced(value, provider);
  for (const one of made) translations.add(one);
  const rest = made.length === 0 ? value : value.replaceAll(/\$\{[A-Za-z_]\w*\}/g, "\0");
  return { word: text, literal: rest };
}

function translateTilde(value: string, { isHead, translations }: Context): { word: string; literal: string } {
  if (isHead && value.startsWith("~/")) {
    if (/[:=]~/.test(value)) throw new Untranslatable("~ after : or = is expanded by some shells");
    translations.add("~/ → {home}/");
    return { word: `{home}${value.slice(1)}`, literal: `\0${value.slice(1)}` };
  }
  if (isHead && value.startsWith("~"))
    throw new Untranslatable(`${JSON.stringify(value)}: ~ is translated only before a /`);
  if (/[:=]~/.test(value)) throw new Untranslatable("~ after : or = is expanded by some shells");
  return { word: value, literal: value };
}

function translateVariable(
  { name, isBraced, quoting }: Segment & { kind: "variable" },
  { isHead, next, provider, translations }: Context & { next: Segment | undefined },
): string {
  const written = isBraced ? `\${${name}}` : `$${name}`;
  if (name === "HOME" && isHead && next?.kind === "text" && next.value.startsWith("/")) {
    translations.add(`${written}/ → {home}/`);
    return "{home}";
  }
  const placeholder = placeholderOf(name, provider);
  if (placeholder !== undefined) {
    translations.add(`host placeholder ${written} → ${placeholder}`);
    return placeholder;
  }
  const where = quoting === "double" ? "$ inside double quotes: " : "";
  throw new Untranslatable(`${where}${describeVariable(name, provider)}`);
}

function refuseLiteral(literal: string): void {
  const placeholder = literalPlaceholder(literal);
  if (placeholder !== undefined)
    throw new Untranslatable(`holds the text ${placeholder}, which would be expanded here and has no escape`);
}

/** Where no shell looks, a host replaces `${NAME}` alone: `$NAME` would reach the program as it is, and no author meant that. */
function refuseBareHostVariable(text: string, provider: Provider): void {
  for (const [, name = ""] of text.matchAll(/\$([A-Za-z_]\w*)/g))
    if (placeholderOf(name, provider) !== undefined)
      throw new Untranslatable(`$${name} is not expanded here; write \${${name}} in its place`);
}
