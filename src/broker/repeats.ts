// Equal hooks of one event are asked once.

import type { CompiledEntry } from "../compiler/plan.ts";
import type { Envelope } from "../profile/envelope-types.ts";

/**
 * True for an entry that does the same under the same policy as one that ran before it, on the same envelope. After a rewrite it is asked
 * again: what it judged is no longer what would run.
 */
export function createRepeats(): (entry: CompiledEntry, envelope: Envelope) => boolean {
  const seen: { readonly entry: CompiledEntry; readonly key: string; readonly envelope: Envelope }[] = [];
  return (entry, envelope) => {
    const key = repeatKey(entry);
    const isSame = (one: CompiledEntry) =>
      one.type !== "function" || entry.type !== "function" || one.handler === entry.handler;
    const isRepeat = seen.some((one) => one.envelope === envelope && one.key === key && isSame(one.entry));
    if (!isRepeat) seen.push({ entry, key, envelope });
    return isRepeat;
  };
}

function repeatKey(entry: CompiledEntry): string {
  const { type, timeoutMs, onFailure, grants, once = false, async: background = false } = entry;
  return JSON.stringify([type, runsOf(entry), timeoutMs, onFailure, grants, once, background]);
}

function runsOf(entry: CompiledEntry): unknown[] {
  if (entry.type === "command") return [entry.argv, entry.env, entry.persistent ?? false];
  return entry.type === "http" ? [entry.url, entry.headers] : [entry.throws, entry.closesFeedback];
}
