// Everything a handler says beside its type and command: timeout, async, filters, failure mode, and the keys nobody knows.

import { TIMEOUT_MAX_SECONDS } from "../declaration/schema.ts";
import type { CommandEntry } from "../declaration/types.ts";
import { capabilityOf, type EventName, type Provider } from "../profile/events.ts";
import { describeNode, memberOf, type SourceNode } from "./source-tree.ts";

/** Keys that say something to a reader and nothing to a host. */
export const DESCRIPTIVE_KEYS: ReadonlySet<string> = new Set(
  "description statusMessage name id label title comment comments note notes _comment _note $comment //".split(
    " ",
  ),
);

/** From here a number of seconds looks like milliseconds. */
const LOOKS_LIKE_MS = 1000;
/** Up to here a timeout is short for a program that has to start first, in seconds. */
const TIGHT_SECONDS = 2;
const DEFAULT_SECONDS = 60;

export interface Policy {
  readonly fields: Pick<CommandEntry, "timeout" | "on_failure">;
  readonly problems: readonly string[];
  readonly translations: readonly string[];
  readonly warnings: readonly string[];
}

interface Notes {
  readonly problems: string[];
  readonly translations: string[];
  readonly warnings: string[];
}

export function readPolicy(
  node: SourceNode & { kind: "object" },
  { provider, event, isEventKnown }: { provider: Provider; event: EventName; isEventKnown: boolean },
): Policy {
  const notes: Notes = { problems: [], translations: [], warnings: [] };
  const isGate = isEventKnown && capabilityOf(event).role === "gate";
  const timeout = readTimeout(memberOf(node, "timeout")?.value, { isGate, provider, notes });
  const onFailure = readOnFailure(memberOf(node, "onFailure")?.value, notes);
  for (const { key, value } of node.members) {
    if (
      ["type", "command", "timeout", "onFailure"].includes(key) ||
      (key === "args" && provider === "claude")
    )
      continue;
    if (DESCRIPTIVE_KEYS.has(key)) notes.translations.push(`${key} left out: words for a reader`);
    else readKey(key, value, { isGate, event, notes });
  }
  return {
    fields: {
      ...(timeout === undefined ? {} : { timeout }),
      ...(onFailure === undefined ? {} : { on_failure: onFailure }),
    },
    ...notes,
  };
}

function readTimeout(
  node: SourceNode | undefined,
  { isGate, provider, notes }: { isGate: boolean; provider: Provider; notes: Notes },
): number | undefined {
  if (node !== undefined && (node.kind !== "number" || !Number.isFinite(node.value) || node.value <= 0)) {
    notes.problems.push(`timeout is ${describeNode(node)}; it must be a number of seconds above 0`);
    return undefined;
  }
  const seconds = node?.value;
  if (seconds !== undefined && seconds >= LOOKS_LIKE_MS)
    notes.warnings.push(
      `timeout ${seconds} s; did you mean ${seconds / 1000}?${seconds > TIMEOUT_MAX_SECONDS ? ` Above ${TIMEOUT_MAX_SECONDS} s a run refuses this entry until it is changed` : ""}`,
    );
  if (!isGate) return seconds;
  if (seconds !== undefined && seconds <= TIGHT_SECONDS)
    notes.warnings.push(`timeout ${seconds} s is short for a program that has to start first`);
  const given =
    seconds === undefined ? `${DEFAULT_SECONDS} s, the default here: none is given` : `${seconds} s`;
  notes.warnings.push(`a gate: no answer in time denies (${given}), where ${provider} lets it through`);
  return seconds;
}

function readOnFailure(
  node: SourceNode | undefined,
  { problems, translations }: Notes,
): "closed" | undefined {
  if (node === undefined) return undefined;
  if (node.kind === "string" && node.value === "block") {
    translations.push("onFailure: block → on_failure: closed");
    return "closed";
  }
  problems.push(`onFailure is ${describeNode(node)}; only "block" has a meaning here`);
  return undefined;
}

function readKey(
  key: string,
  value: SourceNode,
  { isGate, event, notes }: { isGate: boolean; event: EventName; notes: Notes },
): void {
  const { problems, warnings, translations } = notes;
  switch (key) {
    case "if":
      problems.push("if filter not supported; importing would widen the hook");
      return;
    case "enabled":
      if (value.kind === "boolean" && value.value) translations.push("enabled: true left out");
      else
        problems.push(`enabled is ${describeNode(value)}: a hook that is switched off is not imported live`);
      return;
    case "async":
    case "asyncRewake":
    case "once":
      if (value.kind !== "boolean") problems.push(`${key} is ${describeNode(value)}, not true or false`);
      else if (!value.value) translations.push(`${key}: false left out`);
      else readTrueFlag(key, { isGate, event, notes });
      return;
    case "shell":
      if (value.kind === "string" && value.value === "bash")
        translations.push("shell: bash left out: argv needs none");
      else problems.push(`shell is ${describeNode(value)}; argv needs none, and this one is not sh`);
      return;
    case "commandWindows":
    case "command_windows":
      warnings.push(`${key} left out: ${describeNode(value)} is for Windows`);
      return;
    default:
      problems.push(
        `unknown key ${JSON.stringify(key)}: ${describeNode(value)}; leaving it out could change what the hook does`,
      );
  }
}

function readTrueFlag(
  key: "async" | "asyncRewake" | "once",
  { isGate, event, notes: { problems, warnings } }: { isGate: boolean; event: EventName; notes: Notes },
): void {
  if (key === "asyncRewake")
    problems.push("asyncRewake: a handler that blocks to wake the agent later has no form here");
  else if (key === "once") warnings.push("once: true is not kept: here it runs every time");
  else if (isGate)
    problems.push(`async on ${event}: run in the foreground a notifier becomes a gate, and its crash denies`);
  else
    warnings.push("async: true is not kept: here it is waited for where the event is, and its answer counts");
}
