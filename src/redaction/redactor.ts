// Secrets out of everything that is written or shown. Receipts, logs, errors, events' diagnostics go through a Redactor; what the
// agent itself says to its caller (messages, tool output) is data and is not touched.

import { isJsonObject, type Json, setOwn } from "../json.ts";
import { isSecretName, REDACTED, SECRET_OPTION, SECRET_PATTERNS } from "./patterns.ts";

/** Values shorter than this are not treated as secrets: replacing `1` or `yes` everywhere would only destroy the text. */
export const SECRET_MIN_LENGTH = 6;

export interface Redactor {
  text(input: string): string;
  /** Recursive over values and keys; a value under a secret-looking key goes whole. */
  json<T>(input: T): T;
  /** Word by word; the word after `--token` and the like goes whole. */
  argv(words: readonly string[]): string[];
  /** For streams: holds back a tail so that a secret cut by a chunk border is still found. */
  stream(): { push(chunk: string): string; end(): string };
}

export interface RedactorSources {
  /** Every variable with a secret-looking name contributes its value. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Further values that must never show. */
  readonly values?: readonly string[];
}

export function createRedactor({ env = {}, values = [] }: RedactorSources = {}): Redactor {
  const secrets = collectSecrets(env, values);
  const exact = secrets.length === 0 ? undefined : new RegExp(secrets.map(escapePattern).join("|"), "g");

  const shapes = [...(exact === undefined ? [] : [exact]), ...SECRET_PATTERNS.map(({ pattern }) => pattern)];
  const longest = secrets[0]?.length ?? 0;

  const text = (input: string): string => {
    let output = exact === undefined ? input : input.replace(exact, REDACTED);
    for (const { pattern, replacement } of SECRET_PATTERNS) output = output.replace(pattern, replacement);
    return output;
  };
  /** Receipts say the same words again and again: names of fields, events, tools and hooks. */
  const short = remember(text);
  const json = <T>(input: T): T => redactJson(input as Json, short) as T;
  const argv = (words: readonly string[]): string[] =>
    words.map((word, index) => (SECRET_OPTION.test(words[index - 1] ?? "") ? REDACTED : text(word)));
  return { text, json, argv, stream: () => createStream(text, shapes, longest) };
}

/** Longest text that is remembered, and how many are. */
const REMEMBERED_LENGTH = 64;
const REMEMBERED_TEXTS = 128;

function remember(text: (input: string) => string): (input: string) => string {
  const known = new Map<string, string>();
  return (input) => {
    if (input.length > REMEMBERED_LENGTH) return text(input);
    const found = known.get(input);
    if (found !== undefined) return found;
    const output = text(input);
    if (known.size < REMEMBERED_TEXTS) known.set(input, output);
    return output;
  };
}

/** Every form in which a secret is looked for, the longest first. */
export function collectSecrets(
  env: Readonly<Record<string, string | undefined>>,
  values: readonly string[],
): string[] {
  const named = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isSecretName(name) ? [value] : [],
  );
  const found = new Set<string>();
  for (const value of [...named, ...values]) {
    for (const form of [
      value,
      value.trim(),
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      Buffer.from(value).toString("base64"),
    ]) {
      if (form.length >= SECRET_MIN_LENGTH) found.add(form);
    }
  }
  // Longest first: a secret that begins with another must go whole.
  return [...found].sort((a, b) => b.length - a.length);
}

function escapePattern(value: string): string {
  return value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

function redactJson(value: Json | undefined, text: (input: string) => string): Json | undefined {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return value.map((inner) => redactJson(inner, text) as Json);
  if (!isJsonObject(value)) return value;
  const result: { [key: string]: Json } = {};
  for (const [key, inner] of Object.entries(value)) {
    const isSecret = typeof inner === "string" && isSecretName(key);
    const name = text(key);
    const value = isSecret ? REDACTED : (redactJson(inner, text) as Json);
    if (name === "__proto__") setOwn(result, name, value);
    else result[name] = value;
  }
  return result;
}

/** Text is released line by line: no shape above but PEM spans lines, and a PEM block is held until its end or `STREAM_HOLD_LIMIT`. */
const STREAM_HOLD_LIMIT = 64 * 1024;
/** What is kept back of a line above the limit, at least: more than any shape above needs to be known by. */
const STREAM_OVERLAP = 4 * 1024;

function createStream(
  text: (input: string) => string,
  shapes: readonly RegExp[],
  longest: number,
): { push(chunk: string): string; end(): string } {
  const overlap = Math.max(STREAM_OVERLAP, longest);
  /** A place to cut that is inside no secret; the whole when there is none. */
  const findCut = (whole: string): number => {
    let cut = whole.length - overlap;
    for (let before = -1; before !== cut && cut > 0; ) {
      before = cut;
      const from = Math.max(0, cut - overlap);
      const near = whole.slice(from, cut + overlap);
      for (const { index, length } of shapes.flatMap((shape) =>
        [...near.matchAll(shape)].map((match) => ({ index: from + match.index, length: match[0].length })),
      ))
        if (index < cut && cut < index + length) cut = index;
    }
    return cut > 0 ? cut : whole.length;
  };
  let held = "";
  const release = (upTo: number): string => {
    const ready = held.slice(0, upTo);
    held = held.slice(upTo);
    return text(ready);
  };
  return {
    push(chunk) {
      held += chunk;
      const pem = held.lastIndexOf("-----BEGIN");
      const isOpenPem = pem !== -1 && held.indexOf("-----END", pem) === -1;
      const end = isOpenPem ? held.lastIndexOf("\n", pem) + 1 : held.lastIndexOf("\n") + 1;
      // A line this long is not a log line: it is released but for a tail.
      if (held.length - end > STREAM_HOLD_LIMIT) return release(findCut(held));
      return end === 0 ? "" : release(end);
    },
    end: () => release(held.length),
  };
}
