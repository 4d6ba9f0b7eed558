// Does a declaration guard the shell? Asked by what must not leave such a guard a way around it. Pure.

import { matches } from "../profile/matcher.ts";
import { describeTool } from "../profile/tool.ts";
import type { HookPlan } from "./plan.ts";

/** True when a `PreToolUse` entry would be asked about a shell call of the plan's provider. */
export function guardsShell({ entries, provider }: Pick<HookPlan, "entries" | "provider">): boolean {
  const input = { command: "bash" };
  const call = { tool_name: "Bash", tool_input: input, ...describeTool("Bash", input, provider) };
  return entries.some(({ event, matcher }) => event === "PreToolUse" && matches(event, matcher, call));
}
