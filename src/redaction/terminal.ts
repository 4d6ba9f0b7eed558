// Makes text safe to show on a terminal: control characters, bidirectional overrides and lone surrogates become visible escapes.

const UNSAFE = new RegExp(
  [
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]", // C0 (but tab and newline), DEL, C1
    "[\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ufeff]", // direction marks
    "[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]", // lone surrogates
  ].join("|"),
  "g",
);

/** Escapes everything a terminal would act on; newline and tab stay. */
export function escapeForTerminal(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same, on one line. */
export function toOneLine(text: string): string {
  return escapeForTerminal(text).replaceAll("\n", "\\n").replaceAll("\t", " ");
}
