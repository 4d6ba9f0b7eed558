// What a store of a host's receipts is given to write: a line that every reader will read, or a refusal at once. Must never let through what
// makes a later read fail.

import { findMisfit, type JsonlLine } from "../host/parse-line.ts";
import { invalidOption, refuseOption, showValue } from "./check-arguments.ts";

type LineOf<Kind extends JsonlLine["kind"]> = Extract<JsonlLine, { kind: Kind }>;

/**
 * A copy of a receipt (`execution`) or of a registration (`hook`), its fields read once.
 *
 * @param store its file, for the message
 * @throws AgentHooksRefused `option_invalid` with the field and the value: it is none. A line that was read from a store is one.
 */
export function checkLine<Kind extends JsonlLine["kind"]>(
  kind: Kind,
  value: unknown,
  store: string,
): LineOf<Kind> {
  const what = kind === "hook" ? "hook" : "receipt";
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidOption(what, value, kind === "hook" ? "a HookRecord" : "a HookReceipt");
  let line: Record<string, unknown>;
  try {
    line = { kind, ...value };
  } catch (cause) {
    throw refuseOption(what, `was not written to ${store}: a field of it throws`, "give plain data", cause);
  }
  const misfit =
    line.kind === kind
      ? findMisfit(kind, line)
      : { field: "kind", wanted: `${JSON.stringify(kind)}, or nothing` };
  if (misfit !== undefined) throw misfitError(what, line, misfit, store);
  // JSON would ask it what to write.
  if (typeof line.toJSON === "function")
    throw misfitError(what, line, { field: "toJSON", wanted: "plain data" }, store);
  return line as unknown as LineOf<Kind>;
}

function misfitError(
  what: string,
  line: Readonly<Record<string, unknown>>,
  { field, wanted }: { field: string; wanted: string },
  store: string,
) {
  const value = line[field];
  const which = typeof line.id === "string" ? ` ${showValue(line.id)}` : "";
  const seen = value === undefined ? "it is missing" : `got ${showValue(value)}`;
  return refuseOption(
    `${what}.${field}`,
    `${what}${which} was not written to ${store}: expected ${wanted}, ${seen}`,
    "hooks are decided regardless; write what a host hands to its store",
  );
}
