// What a hook reads of an envelope, typed: fields that every world fills, and nothing of a provider. Pure.

import { isJsonObject, type JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";

export interface Call {
  /** Empty when the event carries no tool. */
  readonly tool: string;
  readonly kind: string;
  readonly command: string | undefined;
  readonly paths: readonly string[];
  readonly input: JsonObject;
}

export function readCall(envelope: Envelope): Call {
  const {
    tool_name: tool,
    tool_kind: kind,
    tool_command: command,
    tool_paths: paths,
    tool_input: input,
  } = envelope;
  return {
    tool: typeof tool === "string" ? tool : "",
    kind: typeof kind === "string" ? kind : "",
    command: typeof command === "string" ? command : undefined,
    paths: Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [],
    input: isJsonObject(input) ? input : {},
  };
}

/** Strings of a value, with the place of each: `tool_input.edits[0].new_string`. */
export function* stringsIn(
  value: unknown,
  at: string,
): Generator<{ readonly at: string; readonly text: string }> {
  if (typeof value === "string") yield { at, text: value };
  else if (Array.isArray(value))
    for (const [index, one] of value.entries()) yield* stringsIn(one, `${at}[${index}]`);
  else if (isJsonObject(value)) {
    for (const [key, one] of Object.entries(value)) yield* stringsIn(one, `${at}.${key}`);
  }
}
