// What a prompt should not hold, and where it stands: secrets by their shape, characters that nobody sees. Never says what stands there. Pure.

import { SECRET_PATTERNS } from "../redaction/patterns.ts";

export interface Finding {
  readonly what: string;
  /** UTF-16 offset. */
  readonly index: number;
}

/** `3:14`: line and column from 1, columns in code points. */
export function placeOf(text: string, index: number): string {
  const before = text.slice(0, index);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  return `${line}:${[...before.slice(lineStart)].length + 1}`;
}

/** What stands in place of a secret in examples and scripts. */
const PLACEHOLDER =
  /^["']?(?:\$|<|\{|%|\*{3}|x{4,}|\.{3}|…|\[redacted\]|your[-_ ]|process\.env|os\.environ|env[:.]|example|placeholder|changeme)/i;

export function findSecrets(text: string): Finding[] {
  return SECRET_PATTERNS.flatMap(({ name, pattern }) =>
    [...text.matchAll(pattern)].flatMap((match) => {
      const kept = match[1] ?? "";
      const secret = match[0].slice(kept.length);
      return PLACEHOLDER.test(secret)
        ? []
        : [{ what: `a secret (${name})`, index: match.index + kept.length }];
    }),
  );
}

/** Name and ranges; what of them is a part of ordinary writing is sorted out below. */
const INVISIBLE: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: "a bidirectional control", pattern: /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g },
  {
    what: "an invisible character",
    pattern:
      /\u034f|[\u180b-\u180d]|[\u17b4\u17b5]|[\u00ad\u115f\u1160\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/g,
  },
  { what: "a tag or hidden selector", pattern: /[\u{e0000}-\u{e0fff}]/gu },
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  { what: "a control character", pattern: /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g },
  { what: "half of a surrogate pair", pattern: /\p{Surrogate}/gu },
];

export function findInvisible(text: string): Finding[] {
  return INVISIBLE.flatMap(({ what, pattern }) =>
    [...text.matchAll(pattern)].flatMap(({ 0: found, index }) =>
      isOrdinary(text, found, index) ? [] : [{ what: `${what} (U+${hex(found)})`, index }],
    ),
  );
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

const BEFORE_JOINER =
  /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|\p{Script=Arabic}|\p{Script=Syriac}|\p{M}|\p{Script_Extensions=Devanagari})$/u;
const AFTER_JOINER =
  /^(?:\p{Extended_Pictographic}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Devanagari}|\p{Script=Bengali}|\p{Script=Tamil}|\p{Script=Malayalam}|\p{Script=Kannada}|\p{Script=Telugu}|\p{Script=Sinhala})/u;
/** Flags of England, Scotland and Wales are written with tags. */
const FLAG = /\u{1f3f4}[\u{e0020}-\u{e007e}]{2,7}\u{e007f}/gu;

/** Joiners inside emoji and of scripts that are written with them; a byte order mark at the start. */
function isOrdinary(text: string, found: string, index: number): boolean {
  if (found === "\ufeff") return index === 0;
  if (found === "\u200c" || found === "\u200d")
    return (
      BEFORE_JOINER.test(text.slice(Math.max(0, index - 4), index)) &&
      AFTER_JOINER.test(text.slice(index + 1, index + 3))
    );
  if (/[\u{e0020}-\u{e007f}]/u.test(found)) {
    const from = Math.max(0, index - 20);
    return [...text.slice(from, index + 20).matchAll(FLAG)].some(
      (flag) => from + flag.index <= index && index < from + flag.index + flag[0].length,
    );
  }
  return false;
}
