// What a caller should know of a declaration that is fine. Pure; refuses nothing.

import { capabilityOf } from "../profile/events.ts";
import type { HookPlan } from "./plan.ts";
import { guardsShell } from "./shell-guard.ts";

export interface CompileWarning {
  readonly code:
    | "hole_write_stdin"
    | "proof_ignored"
    | "command_untrusted"
    | "command_changed"
    | "async_never_blocks";
  readonly message: string;
}

/** Warnings of a plan, in a fixed order. */
export function listWarnings(
  plan: Pick<HookPlan, "entries" | "provider" | "proof" | "skipped">,
): CompileWarning[] {
  return [...ignoredProof(plan), ...untypedShell(plan), ...listHookWarnings(plan)];
}

/** Those that concern no agent: of hooks in process too. */
export function listHookWarnings(hooks: Pick<HookPlan, "entries" | "skipped">): CompileWarning[] {
  return [...backgroundGates(hooks), ...skippedEntries(hooks)];
}

function backgroundGates({ entries }: Pick<HookPlan, "entries">): CompileWarning[] {
  return entries
    .filter(({ event, async: isBackground }) => isBackground === true && capabilityOf(event).role === "gate")
    .map(({ id }) => ({
      code: "async_never_blocks",
      message: `${id} is async: nothing waits for it, so it blocks nothing`,
    }));
}

function skippedEntries({ skipped }: Pick<HookPlan, "skipped">): CompileWarning[] {
  return skipped.map(({ code, message }) => ({ code, message: `not run: ${message}` }));
}

/** A record of this machine that does not count may have been one that spoke against the binary. */
function ignoredProof({ proof }: Pick<HookPlan, "proof">): CompileWarning[] {
  if (proof?.ignored === undefined) return [];
  const message = `a proof on this machine does not count (${proof.ignored}); the ${proof.source} one was used`;
  return [{ code: "proof_ignored", message }];
}

function untypedShell(plan: Pick<HookPlan, "entries" | "provider">): CompileWarning[] {
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
