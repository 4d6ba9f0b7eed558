// Decides whether codex's session record is watched in a run, and what becomes of what it shows.

import { guardsShell } from "../compiler/shell-guard.ts";
import type { RunScope } from "./run-scope.ts";
import type { RunLayout } from "./set-up.ts";
import { type SessionWatch, watchCodexSession } from "./watch-codex-session.ts";

/** Under codex a `PreToolUse` guard is held against the session file as well; undefined where there is nothing to hold. */
export function startSessionWatch(
  { plan, options, runtime, receipts, redactor, ender, warnings }: RunScope,
  { context }: RunLayout,
  tell: (warning: { code: string; message: string }) => void,
): SessionWatch | undefined {
  if (plan.provider !== "codex" || !plan.events.includes("PreToolUse")) return undefined;
  const seen = options.admit?.interactiveShell === true ? "warn" : "refuse";
  return watchCodexSession({
    home: context.providerHome,
    ledger: runtime.ledger,
    receipts,
    typing: guardsShell(plan) ? seen : "ignore",
    onFault: (reason) => ender.end({ kind: "unenforced", reason }),
    onWarning: ({ code, message }) => {
      const warning = { code, message: redactor.text(message) };
      warnings.push(warning);
      receipts.write({ kind: "warning", ...warning });
      tell(warning);
    },
  });
}
