// Whether self-tests ask what a run could ask: the entry's own event, fields that an agent sends, an answer that the event can have. Pure.

import type { Issue } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { capabilityOf, type EventName } from "../profile/events.ts";
import type { SelfTest } from "./types.ts";

/** Told by Bridle from `tool_name` and `tool_input`: set by hand they could say what never happens. */
const DERIVED = ["tool_kind", "tool_command", "tool_paths"];

/** `at`: the entry. Issues: `declaration_invalid`. */
export function checkSelfTests(event: EventName, tests: readonly SelfTest[], at: string): Issue[] {
  return tests.flatMap((test, index) =>
    problemsOf(event, test).map(
      ([field, message, hint]): Issue => ({
        code: "declaration_invalid",
        path: `${at}.selftest[${index}].${field}`,
        message,
        hint,
      }),
    ),
  );
}

function problemsOf(
  event: EventName,
  { event: named = event, input, expect }: SelfTest,
): [string, string, string][] {
  const problems: [string, string, string][] = [];
  const { accepts, subject } = capabilityOf(event);
  if (named !== event)
    problems.push(["event", `"${named}" is never asked of an entry of ${event}`, "leave event out"]);
  if (expect !== "allow" && !accepts.includes(expect))
    problems.push(["expect", `"${expect}" cannot be the answer to ${event}`, "see docs/PROFILE.md, Events"]);
  if (input.hook_event_name !== undefined && input.hook_event_name !== event)
    problems.push([
      "input.hook_event_name",
      `${JSON.stringify(input.hook_event_name)} is not ${event}`,
      "leave it out",
    ]);
  for (const field of DERIVED.filter((name) => input[name] !== undefined))
    problems.push([
      `input.${field}`,
      `${field} is told from tool_name and tool_input`,
      "write tool_name and tool_input",
    ]);
  if (subject === "tool_name" && input.tool_input !== undefined) {
    if (!isJsonObject(input.tool_input))
      problems.push(["input.tool_input", "expected an object", "for example { command: ls }"]);
    else if (input.tool_name === undefined && typeof input.tool_input.command !== "string")
      problems.push([
        "input.tool_name",
        "is missing: an input without a command is not that of a shell",
        "name the tool, for example Write",
      ]);
  }
  return problems;
}
