// What a hook reads of an envelope, typed: fields that every world fills, and nothing of a provider. Pure.

import { isJsonObject, type JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";

export interface Call {
  /** Empty when the event carries no tool. */
  readonly tool: string;
  readonly kind: string;
  readonly command: string | undefined;
  readonly paths: readonly string[];
  readonly input: JsonObject;
}

export function readCall(envelope: Envelope): Call {
  const {
    tool_name: tool,
    tool_kind: kind,
    tool_command: command,
    tool_paths: paths,
    tool_input: input,
  } = envelope;
  return {
    tool: typeof tool === "string" ? tool : "",
    kind: typeof kind === "string" ? kind : "",
    command: typeof command === "string" ? command : undefined,
    paths: Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [],
    input: isJsonObject(input) ? input : {},
  };
}

/** Strings of a value, with the place of each: `tool_input.edits[0].new_string`. */
export function* stringsIn(
  value: unknown,
  at: string,
): Generator<{ readonly at: string; readonly text: string }> {
  if (typeof value === "string") yield { at, text: value };
  else if (Array.isArray(value))
    for (const [index, one] of value.entries()) yield* stringsIn(one, `${at}[${index}]`);
  else if (isJsonObject(value)) {
    for (const [key, one] of Object.entries(value)) yield* stringsIn(one, `${at}.${key}`);
  }
}

const SHELL_FIELD = /^(?:command|cmd|script|shell_?command|command_?line|bash|commands)$/i;

/** Tools whose scripts are in another language. */
const OTHER_LANGUAGE = /python|javascript|typescript|node|ruby|sql|query|browser|playwright|puppeteer/i;

/** Commands that a tool of no known kind is given: a text, or a list of words or of texts. */
export function shellTextsOf({ tool, kind, input }: Pick<Call, "tool" | "kind" | "input">): string[] {
  if (kind !== "mcp" && kind !== "other") return [];
  return Object.entries(input).flatMap(([key, value]) => {
    if (!SHELL_FIELD.test(key) || (/script/i.test(key) && OTHER_LANGUAGE.test(tool))) return [];
    if (typeof value === "string") return [withArguments(value, input.args ?? input.arguments)];
    if (!Array.isArray(value)) return [];
    const words = value.filter((word) => typeof word === "string");
    return key.toLowerCase() === "commands" ? words : [words.map(quoteWord).join(" ")];
  });
}

/** `{ command: "rm", args: ["-rf", "/"] }` */
function withArguments(command: string, args: unknown): string {
  if (!Array.isArray(args)) return command;
  return [command, ...args.filter((word) => typeof word === "string").map(quoteWord)].join(" ");
}

function quoteWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
