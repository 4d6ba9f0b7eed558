// Where in its script a conversation stands. Works on provider-neutral items; pure.

import { type IndexedScript, readCallId, stepForTurn } from "./script.ts";

export type ConversationItem =
  /** Text from outside the model: prompts, hook context, notes of the CLI. */
  | { readonly from: "outside"; readonly text: string }
  /** What the model said or called before; `callId` for a call. */
  | { readonly from: "model"; readonly callId?: string }
  | { readonly from: "tool"; readonly callId: string; readonly text: string };

export interface Position {
  readonly script: IndexedScript;
  /** How many answers the model has given since the prompt that carries the token. */
  readonly turn: number;
  /** The items after that prompt. */
  readonly since: readonly ConversationItem[];
}

/**
 * The token seen last decides the script; its first appearance is where counting starts (a hook may quote the prompt
 * later). Undefined when no token is in the text from outside.
 */
export function locate(
  items: readonly ConversationItem[],
  scripts: ReadonlyMap<string, IndexedScript>,
): Position | undefined {
  const script = lastScript(items, scripts);
  if (script === undefined) return undefined;
  const start = items.findIndex((item) => item.from === "outside" && item.text.includes(script.token));
  const since = items.slice(start + 1);
  return { script, turn: countTurns(since, script), since };
}

function lastScript(
  items: readonly ConversationItem[],
  scripts: ReadonlyMap<string, IndexedScript>,
): IndexedScript | undefined {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index] as ConversationItem;
    if (item.from !== "outside") continue;
    let best: { at: number; script: IndexedScript } | undefined;
    for (const script of scripts.values()) {
      const at = item.text.lastIndexOf(script.token);
      if (at === -1) continue;
      const longer = best !== undefined && at === best.at && script.token.length > best.script.token.length;
      if (best === undefined || at > best.at || longer) best = { at, script };
    }
    if (best !== undefined) return best.script;
  }
  return undefined;
}

/** An answer is a run of model items; a call id that names its turn settles runs that a CLI tore apart. */
function countTurns(since: readonly ConversationItem[], script: IndexedScript): number {
  const ownIds = ownCallTurns(since, script);
  let turns = 0;
  let inAnswer = false;
  for (const item of since) {
    if (item.from !== "model") {
      inAnswer = false;
      continue;
    }
    const named = item.callId === undefined ? undefined : ownIds.get(item.callId);
    if (named !== undefined) turns = Math.max(turns, named + 1);
    else if (!inAnswer) turns += 1;
    inAnswer = true;
  }
  return turns;
}

function ownCallTurns(since: readonly ConversationItem[], script: IndexedScript): Map<string, number> {
  const turnOf = new Map<string, number>();
  for (const item of since) {
    if (item.from !== "model" || item.callId === undefined) continue;
    const read = readCallId(item.callId);
    if (read?.mark === script.mark) turnOf.set(item.callId, read.turn);
  }
  // Ids chosen by the script's author, in the turn where the step stands when no loop precedes it.
  for (let turn = 0; turn <= since.length; turn++) {
    const found = stepForTurn(script.script, turn);
    if (found === undefined) break;
    for (const tool of found.step.tools ?? []) {
      if (tool.id === undefined) continue;
      const id = found.repeat === 0 ? tool.id : `${tool.id}-${found.repeat}`;
      if (!turnOf.has(id)) turnOf.set(id, turn);
    }
  }
  return turnOf;
}
