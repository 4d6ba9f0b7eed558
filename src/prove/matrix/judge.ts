// Holds an expectation against what was observed. Looks at files and at the wire; the CLI's own word counts for nothing.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { ENVELOPE_SCHEMAS } from "../../profile/envelope.ts";
import { isEventName } from "../../profile/events.ts";
import type { Check, Observation } from "./observation.ts";
import type { Expectation } from "./schema.ts";
import type { Stage } from "./stage.ts";

export function judge(expect: Expectation, seen: Observation, stage: Stage): Check[] {
  const checks: Check[] = [];
  const check = (what: string, want: unknown, got: unknown, holds = isDeepStrictEqual(want, got)) =>
    checks.push({ what, want: show(want), got: show(got), holds });
  const note = (name: string) => join(stage.notes, name);
  const { expand } = stage;

  if (expect.refused !== undefined) {
    const codes = seen.refusal?.codes ?? [];
    check("refused", expect.refused, codes.join(", ") || "not refused", codes.includes(expect.refused));
  } else if (seen.refusal !== undefined) {
    check("not refused", "a run", seen.refusal.codes.join(", "), false);
  }
  for (const name of expect.present ?? [])
    check(`file ${name}`, "exists", existsSync(stage.at(name)) ? "exists" : "absent");
  for (const name of expect.absent ?? [])
    check(`file ${name}`, "absent", existsSync(stage.at(name)) ? "exists" : "absent");
  for (const words of expect.told ?? [])
    check("the model was told", words, tail(seen.told), seen.told.includes(expand(words)));
  for (const words of expect.untold ?? [])
    check("the model was not told", words, tail(seen.told), !seen.told.includes(expand(words)));
  for (const words of expect.sent ?? [])
    check("the model was sent", words, "nothing of it", seen.sent.includes(expand(words)));
  for (const words of expect.unsent ?? [])
    check("the model was not sent", words, "just that", !seen.sent.includes(expand(words)));
  for (const name of expect.offered ?? []) check("tool offered", name, seen.offered, has(seen.offered, name));
  for (const name of expect.unoffered ?? [])
    check("tool not offered", name, seen.offered, !has(seen.offered, name));
  for (const [name, words] of Object.entries(expect.notes ?? {})) {
    const text = existsSync(note(name)) ? readFileSync(note(name), "utf8") : undefined;
    check(`note ${name}`, "exists", text === undefined ? "absent" : "exists");
    for (const word of words)
      check(`note ${name} holds`, word, excerpt(text ?? ""), text?.includes(expand(word)) === true);
  }
  for (const name of expect.unnoted ?? [])
    check(`note ${name}`, "absent", existsSync(note(name)) ? "exists" : "absent");
  for (const [name, count] of Object.entries(expect.lines ?? {}))
    check(`lines of note ${name}`, count, readLines(note(name)).length);
  for (const [name, partials] of Object.entries(expect.envelopes ?? {}))
    checks.push(...judgeEnvelopes(readLines(note(name)), expand(partials), name));
  if (expect.outcome !== undefined) check("outcome", expect.outcome, seen.outcome ?? "none");
  if (expect.reason !== undefined)
    check("reason", expect.reason, seen.reason, new RegExp(expect.reason).test(seen.reason));
  if (expect.denied !== undefined) check("calls denied", expect.denied, seen.hooks?.denied);
  if (expect.failed !== undefined) check("hooks failed", expect.failed, seen.hooks?.failed);
  if (expect.model_calls !== undefined) check("model calls", expect.model_calls, seen.modelCalls);
  for (const code of expect.warnings ?? [])
    check(
      "warning",
      code,
      seen.warnings,
      seen.warnings.some((warning) => warning.includes(expand(code))),
    );
  for (const words of expect.receipt ?? [])
    check("receipt", words, excerpt(seen.receipt), seen.receipt.includes(expand(words)));
  return checks;
}

/** Every line is an envelope of the profile; the partial ones occur among them, in their order. */
function judgeEnvelopes(lines: readonly string[], partials: readonly JsonObject[], name: string): Check[] {
  const checks: Check[] = [];
  const envelopes = lines.flatMap((line): JsonObject[] => {
    const problem = envelopeProblem(line);
    if (problem !== undefined)
      checks.push({ what: `envelopes in ${name}`, want: "profile v1", got: problem, holds: false });
    return problem === undefined ? [JSON.parse(line) as JsonObject] : [];
  });
  let next = 0;
  for (const partial of partials) {
    const at = envelopes.findIndex((envelope, index) => index >= next && contains(envelope, partial));
    checks.push({
      what: `envelope in ${name}`,
      want: show(partial),
      got: at === -1 ? excerpt(lines.join("\n")) : "found",
      holds: at !== -1,
    });
    if (at !== -1) next = at + 1;
  }
  return checks;
}

function envelopeProblem(line: string): string | undefined {
  try {
    const envelope: unknown = JSON.parse(line);
    const event = isJsonObject(envelope) ? String(envelope.hook_event_name) : "";
    if (!isEventName(event)) return `no event: ${excerpt(line)}`;
    const { error } = ENVELOPE_SCHEMAS[event].safeParse(envelope);
    return error === undefined ? undefined : `${event}: ${error.message}`;
  } catch {
    return `not one JSON object a line: ${excerpt(line)}`;
  }
}

/** Stands for a field that is not there. */
const ABSENT = "%absent%";

/** Objects and lists by their named parts; a string that starts with `~` is a part of the text. */
function contains(value: Json | undefined, part: Json): boolean {
  if (part === ABSENT) return value === undefined;
  if (typeof part === "string" && part.startsWith("~"))
    return typeof value === "string" && value.includes(part.slice(1));
  if (Array.isArray(part))
    return Array.isArray(value) && part.every((item, index) => contains(value[index], item));
  if (!isJsonObject(part)) return isDeepStrictEqual(value, part);
  return (
    isJsonObject(value) && Object.entries(part).every(([key, item]) => contains(value[key], item ?? null))
  );
}

function has(names: readonly string[], wanted: string): boolean {
  return wanted.endsWith("*")
    ? names.some((name) => name.startsWith(wanted.slice(0, -1)))
    : names.includes(wanted);
}

function readLines(path: string): string[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

function show(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}

/** The end of a text: what was told last is what a guard added. */
function tail(text: string): string {
  return text.length > EXCERPT ? `…${text.slice(-EXCERPT)}` : text;
}

const EXCERPT = 200;
function excerpt(text: string): string {
  return text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
}
