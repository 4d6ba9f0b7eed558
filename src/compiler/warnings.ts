// What a caller should know of a declaration that is fine. Pure; refuses nothing.

import type { HookPlan } from "./plan.ts";
import { guardsShell } from "./shell-guard.ts";

export interface CompileWarning {
  readonly code: "hole_write_stdin";
  readonly message: string;
}

/** Warnings of a plan, in a fixed order. */
export function listWarnings(plan: Pick<HookPlan, "entries" | "provider">): CompileWarning[] {
  // What is typed into a process that runs already asks no hook; without a terminal there is nothing to type into.
  if (plan.provider !== "codex" || !guardsShell(plan)) return [];
  return [
    {
      code: "hole_write_stdin",
      message:
        "codex asks no hook about what is typed into a running process, so under this guard its shell gets no terminal (`tty`); " +
        "admit.interactiveShell gives it one, and then the guard does not see what is typed",
    },
  ];
}
