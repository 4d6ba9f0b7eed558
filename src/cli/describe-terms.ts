// On what terms a hook runs, in the words of check, explain and list. What it returns may hold a caller's text: make it safe before it is shown.

import type { HookDescription } from "../index.ts";

type Terms = Pick<
  HookDescription["hooks"][number],
  "timeoutMs" | "onFailure" | "once" | "async" | "persistent"
>;

/** `5000 ms, on_failure closed, once, persistent`. Of a hook in the background nobody waits for a failure. */
export function describeTerms({
  timeoutMs,
  onFailure,
  once,
  async: isBackground,
  persistent,
}: Terms): string {
  const failure = isBackground === true ? "async, decides nothing" : `on_failure ${onFailure}`;
  const more = [...(once === true ? ["once"] : []), ...(persistent === true ? ["persistent"] : [])];
  return [`${timeoutMs} ms`, failure, ...more].join(", ");
}

/** Which calls it wants: the matcher, and a part of an envelope beside it. */
export function describeWanted({
  matcher,
  where,
}: Pick<HookDescription["hooks"][number], "matcher" | "where">): string {
  return `${matcher ?? "*"}${where === undefined ? "" : `  where ${JSON.stringify(where)}`}`;
}
