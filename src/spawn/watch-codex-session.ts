// Holds codex's own session record against the verdicts of PreToolUse chains: a call that was carried out must have been admitted.
// What `--json` hides shows here by call id: subagents, code-mode cells, denied calls. Looks while the run lasts and once more
// at its end; the prompt of the next model request is not waited for.

import { join } from "node:path";
import type { ReceiptWriter } from "../receipts/writer.ts";
import { readSessionLine, SESSION_FILES, type SessionFact } from "../render/codex/session-log.ts";
import type { CallLedger } from "./call-ledger.ts";
import { tailFiles } from "./tail-files.ts";

/** How often the files are looked at, in milliseconds; each chunk of the stream is a look as well. */
const LOOK_EVERY_MS = 20;

export interface CodexSessionWatch {
  /** The codex home of the run. */
  readonly home: string;
  readonly ledger: Pick<
    CallLedger,
    "isAdmitted" | "isDenied" | "isUndecided" | "ranOriginal" | "end" | "decisions"
  >;
  readonly receipts: Pick<ReceiptWriter, "write">;
  /** `refuse`: what is typed into a running process ends the run; `warn`: it is told; `ignore`: no guard would want to know. */
  readonly typing: "refuse" | "warn" | "ignore";
  readonly onFault: (reason: string) => void;
  readonly onWarning: (warning: { code: string; message: string }) => void;
}

export interface SessionWatch {
  /** Looks now. */
  look(): void;
  /** Looks once more and stops. Returns every fault that was found, the ones already told included. */
  close(): readonly string[];
}

type Called = Extract<SessionFact, { kind: "called" }>;

/** Call once the home is made and before codex starts: what is in the record by then belongs to earlier runs. */
export function watchCodexSession({
  home,
  ledger,
  receipts,
  typing,
  onFault,
  onWarning,
}: CodexSessionWatch): SessionWatch {
  const faults: string[] = [];
  /** Ids in the record of an earlier run: a resumed session, and a subagent that is given its history, show them again. */
  const earlier = new Set<string>();
  const open = new Map<string, Called>();
  let hasStarted = false;
  let hasFacts = false;
  let hasWarned = false;

  const report = (fault: string, detail: string) => {
    const reason = `${fault}: ${detail}`;
    if (faults.includes(reason)) return;
    faults.push(reason);
    receipts.write({ kind: "fault", fault, event: "PreToolUse", detail });
    onFault(reason);
  };

  const judge = (id: string, name: string, input: string) => {
    if (ledger.isAdmitted(id)) return;
    const why = ledger.isDenied(id)
      ? "although PreToolUse denied it"
      : "without an admitting PreToolUse verdict";
    report("unasked", `tool call ${id} (${name}: ${input}) ran ${why}`);
  };

  const judgeTyping = (id: string, { typed = "", input }: Called) => {
    // Ctrl-C ends a process; it drives none.
    if (typed.replaceAll("\u0003", "") === "" || typing === "ignore") return;
    const detail = `tool call ${id} typed into a process that runs already, which no hook is asked about: ${input}`;
    if (typing === "refuse") return report("interactive_shell", detail);
    if (hasWarned) return;
    hasWarned = true;
    onWarning({ code: "interactive_shell", message: detail });
  };

  const take = (fact: SessionFact) => {
    if (!hasStarted) {
      earlier.add(fact.id);
      return;
    }
    if (earlier.has(fact.id)) return;
    hasFacts = true;
    switch (fact.kind) {
      case "called":
        open.set(fact.id, fact);
        return;
      case "ran":
        ledger.end(fact.id);
        judge(fact.id, fact.name, fact.input);
        if (fact.command !== undefined && ledger.ranOriginal(fact.id, { command: fact.command }))
          report("rewrite_ignored", `tool call ${fact.id} ran as the agent asked for it: ${fact.input}`);
        return;
      case "returned": {
        const call = open.get(fact.id);
        open.delete(fact.id);
        ledger.end(fact.id);
        if (call === undefined || fact.how === "refused" || fact.how === "denied") return;
        // Stopped while its hook was asked: it had not begun.
        if (fact.how === "aborted" && ledger.isUndecided(fact.id)) return;
        if (call.typed !== undefined) judgeTyping(fact.id, call);
        else if (call.isGuarded) judge(fact.id, call.name, call.input);
      }
    }
  };

  const tail = tailFiles({
    folder: join(home, SESSION_FILES.folder),
    suffix: SESSION_FILES.suffix,
    onLine: (line) => {
      const fact = readSessionLine(line);
      if (fact !== undefined) take(fact);
    },
    onLost: (detail) => report("session_record", detail),
  });
  tail.look();
  hasStarted = true;
  const timer = setInterval(() => tail.look(), LOOK_EVERY_MS);
  timer.unref();

  return {
    look: () => tail.look(),
    close() {
      clearInterval(timer);
      tail.look();
      // A call is recorded before its hook is asked, so that also an interrupted run has left something.
      if (ledger.decisions > 0 && !hasFacts)
        report(
          "session_record",
          `codex asked about ${ledger.decisions} call(s) and recorded none below ${join(home, SESSION_FILES.folder)}`,
        );
      return faults;
    },
  };
}
