// The two lines a shim may write to the request FIFO: `T SLOT PID EVENT` (answer me) and `D SLOT PID` (done). One strict
// pattern each: the FIFO is reachable by the agent.

import { type EventName, isEventName } from "../profile/events.ts";

export type Request =
  | { readonly kind: "call"; readonly slot: string; readonly pid: number; readonly event: EventName }
  | { readonly kind: "done"; readonly slot: string; readonly pid: number };

const LINE =
  /^(?:(?<call>T)|D) (?<slot>[0-7]|x(?<own>[1-9]\d{0,9})) (?<pid>[1-9]\d{0,9})(?: (?<event>[A-Za-z_]{1,40}))?$/;

/** Undefined for anything that is not exactly one of the two. */
export function parseRequest(line: string): Request | undefined {
  const groups = LINE.exec(line)?.groups;
  const { call, slot, own, pid, event } = groups ?? {};
  if (slot === undefined || pid === undefined) return undefined;
  // A caller's own FIFO is named after it.
  if (own !== undefined && own !== pid) return undefined;
  if (call === undefined) return event === undefined ? { kind: "done", slot, pid: Number(pid) } : undefined;
  if (event === undefined || !isEventName(event)) return undefined;
  return { kind: "call", slot, pid: Number(pid), event };
}
