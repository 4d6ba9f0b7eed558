// What Bridle makes of each sin, as data: one case a sin and provider. test-sins.ts plays them and holds them to the table.

import type { AgentEvent, AgentRun, Provider, RunResult, SpawnOptions } from "../../src/index.ts";
import type { FakeScript, FakeTool, SinName } from "../../src/testkit/index.ts";
import { isAlive } from "../spawn/support.ts";
import { block, deny, type Handler, type play, rewrite } from "./support.ts";

export interface SinCase {
  readonly script: FakeScript;
  /** How claude's hooks ask. @default shim */
  readonly transport?: "callbacks";
  readonly handlers?: Record<string, Handler>;
  readonly options?: Partial<SpawnOptions>;
  /** Called with every message of the model. */
  readonly onMessage?: (run: AgentRun) => void;
  /** How it ends, or the code of the refusal. */
  readonly ends: Partial<Record<keyof RunResult, unknown>> | { readonly refused: string };
  /** Files below the working directory that must, or must not, be there afterwards. */
  readonly files?: Record<string, boolean>;
  /** Codes of warnings that must be among the events. */
  readonly warns?: readonly string[];
  /** Events, in part, that must be among them. */
  readonly shows?: readonly Partial<AgentEvent>[];
  readonly check?: (played: Awaited<ReturnType<typeof play>>) => void;
}

type Cases = Partial<Record<SinName, SinCase | Record<Provider, SinCase>>>;

const touch: FakeTool = { shell: "touch ran" };
const work = { tools: [touch] };
const done = { text: "done" };

const sinful = (sin: NonNullable<FakeTool["sins"]>[number]): FakeScript => ({
  steps: [{ tools: [{ shell: "touch ran", sins: [sin] }] }, done],
});
const inStep = (
  sin: NonNullable<FakeScript["steps"][number]["sins"]>[number],
  text = "done",
): FakeScript => ({
  steps: [work, { text, sins: [sin] }],
});
const inRun = (sin: NonNullable<FakeScript["sins"]>[number]): FakeScript => ({
  steps: [work, done],
  sins: [sin],
});

const asCallbacks = (script: FakeScript) => ({ script, transport: "callbacks" as const });

const unenforced = { outcome: "unenforced", reason: /^unasked: / };
const noCanary = { outcome: "unenforced", reason: /^canary: / };
const success = { outcome: "success", reason: "completed", finalText: "done" };
const refuses = (sin: NonNullable<FakeScript["sins"]>[number], refused: string): SinCase => ({
  script: inRun(sin),
  ends: { refused },
  files: { ran: false },
});

export const TOOL_CASES: Cases = {
  "skip-hook": {
    script: sinful("skip-hook"),
    handlers: { PreToolUse: deny },
    ends: unenforced,
    files: { ran: true },
  },
  "hide-call": {
    script: sinful("hide-call"),
    handlers: { PreToolUse: deny },
    ends: success,
    files: { ran: true },
  },
  "ignore-deny": {
    script: sinful("ignore-deny"),
    handlers: { PreToolUse: deny },
    ends: unenforced,
    files: { ran: true },
  },
  "ignore-rewrite": {
    claude: {
      script: sinful("ignore-rewrite"),
      handlers: { PreToolUse: rewrite, PostToolUse: () => undefined },
      ends: { outcome: "unenforced", reason: /^rewrite_ignored: / },
      files: { ran: true, rewritten: false },
    },
    codex: {
      script: sinful("ignore-rewrite"),
      handlers: { PreToolUse: rewrite },
      ends: { outcome: "unenforced", reason: /^rewrite_ignored: / },
      files: { ran: true, rewritten: false },
    },
  },
  "run-before-asking": {
    claude: {
      script: sinful("run-before-asking"),
      handlers: { PreToolUse: deny },
      ends: { outcome: "success", hooks: { denied: 1 } },
      files: { ran: true },
    },
    codex: {
      script: sinful("run-before-asking"),
      handlers: { PreToolUse: deny },
      ends: unenforced,
      files: { ran: true },
    },
  },
  "kill-hook-shell": {
    claude: { script: sinful("kill-hook-shell"), ends: success, files: { ran: false } },
    codex: { script: sinful("kill-hook-shell"), ends: unenforced, files: { ran: true } },
  },
  "no-verdict": {
    script: sinful("no-verdict"),
    handlers: { PreToolUse: deny },
    ends: { outcome: "unenforced", reason: /without a verdict/ },
  },
  "hook-exit-code": {
    script: sinful({ "hook-exit-code": 127 }),
    ends: { outcome: "unenforced", reason: /exit 127/ },
  },
  "ask-twice": {
    ...asCallbacks(sinful("ask-twice")),
    ends: { outcome: "unenforced", reason: /^request_invalid: .* was asked twice/ },
  },
  "ask-unknown": {
    ...asCallbacks(sinful("ask-unknown")),
    ends: { outcome: "unenforced", reason: /^request_invalid: .*never-registered/ },
  },
  "give-up-asking": {
    ...asCallbacks(sinful("give-up-asking")),
    handlers: { PreToolUse: () => new Promise((resolve) => setTimeout(resolve, 500, undefined)) },
    ends: { outcome: "unenforced", reason: /^late: / },
  },
};

/** As the fake counts pids: the runs that say it live in no PID namespace. */
const CHILD = "pid {{children}}";
const isGone = ({ result, events }: Awaited<ReturnType<typeof play>>) => {
  const said = events
    .map((event) => (event.type === "message" ? event.text : ""))
    .find((text) => /^pid \d/.test(text));
  const pid = Number(said?.slice(4));
  if (!(pid > 0)) throw new Error("no child was left");
  if (isAlive(pid)) throw new Error(`process ${pid} is still there`);
  if (result.extinction.survivors.length > 0) throw new Error("there are survivors");
};

export const STEP_CASES: Cases = {
  "half-line": {
    script: inStep("half-line"),
    ends: { outcome: "incomplete", reason: "output_truncated", exitCode: 0 },
  },
  "garbage-lines": {
    script: inStep("garbage-lines"),
    ends: success,
    shows: [{ type: "unparsed", text: '{"half":', bytes: 8 }],
  },
  "flood-stdout": {
    script: inStep({ "flood-stdout": 8 }),
    ends: success,
    check: ({ events }) => {
      const raw = events.filter(({ type }) => type === "raw").length;
      if (raw !== 8000) throw new Error(`${raw} of 8000 lines arrived`);
    },
  },
  "long-line": {
    script: { steps: [{ sins: [{ "long-line": 2 }] }, { sins: [{ "long-line": 17 }] }, done] },
    ends: success,
    shows: [{ type: "overflow" }],
    check: ({ events }) => {
      if (!events.some((event) => event.type === "message" && event.text.length === 2_000_000))
        throw new Error("the message of 2 MB did not arrive");
    },
  },
  "flood-stderr": {
    script: inStep({ "flood-stderr": 4 }),
    ends: { ...success, stderrTail: /^[^\0]{261000,262144}$/ },
  },
  "leave-child": {
    script: inStep("leave-child", CHILD),
    options: { containment: "sweep" },
    ends: { outcome: "success" },
    check: isGone,
  },
  "leave-child-session": {
    script: inStep("leave-child-session", CHILD),
    options: { containment: "sweep" },
    ends: { outcome: "success" },
    check: isGone,
  },
  "leave-child-holding-stdout": {
    script: inStep("leave-child-holding-stdout", CHILD),
    options: { deadlines: { drainMs: 100 }, containment: "sweep" },
    ends: { outcome: "success" },
    warns: ["pipe_held"],
    check: isGone,
  },
  crash: {
    script: inStep({ crash: "SIGSEGV" }),
    ends: { outcome: "failed", reason: "killed by SIGSEGV", signal: "SIGSEGV" },
    files: { ran: true },
  },
  hang: {
    script: inStep("hang"),
    options: { deadlines: { idleMs: 1000, stopMs: 200 } },
    ends: { outcome: "timed_out", reason: "idle" },
  },
};

const both = (claude: SinCase, codex: SinCase): Record<Provider, SinCase> => ({ claude, codex });

export const RUN_CASES: Cases = {
  "exit-before-prompt": {
    script: inRun({ "exit-before-prompt": 7 }),
    options: { prompt: "p".repeat(1 << 20) },
    ends: { outcome: "failed", reason: "spawn_exited_early: exit 7", stderrTail: /out of order/ },
    files: { ran: false },
  },
  "no-session-start": both(
    {
      ...refuses("no-session-start", "attestation_failed"),
      options: { deadlines: { attestMs: 1500 } },
    },
    { script: inRun("no-session-start"), ends: noCanary },
  ),
  "skip-event": {
    script: inRun({ "skip-event": "UserPromptSubmit" }),
    handlers: { UserPromptSubmit: block },
    ends: { outcome: "unenforced", reason: /^never_asked: UserPromptSubmit / },
  },
  "report-prompt-block": {
    script: inRun("report-prompt-block"),
    handlers: { UserPromptSubmit: () => undefined },
    ends: { outcome: "prompt_blocked", reason: /no hook of this run denied/, hooks: { denied: 0 } },
    files: { ran: false },
  },
  "ignore-prompt-block": {
    script: inRun("ignore-prompt-block"),
    handlers: { UserPromptSubmit: block },
    ends: { outcome: "unenforced", reason: /^deny_ignored: UserPromptSubmit / },
  },
  "no-result": {
    script: inRun("no-result"),
    ends: { outcome: "incomplete", exitCode: 0 },
    files: { ran: true },
  },
  "cut-last-line": {
    script: inRun("cut-last-line"),
    ends: { outcome: "incomplete", reason: "output_truncated" },
  },
  "many-results": { script: inRun("many-results"), ends: success },
  "fail-turn": { script: inRun("fail-turn"), ends: { outcome: "failed", exitCode: 1 } },
  "exit-code": {
    script: inRun({ "exit-code": 3 }),
    ends: { outcome: "failed", reason: "exit 3 after a final message" },
  },
  "never-exit": {
    script: inRun("never-exit"),
    options: { deadlines: { lingerMs: 100, stopMs: 200 } },
    ends: { outcome: "success", reason: "lingered" },
  },
  "ignore-signals": {
    script: { steps: [{ text: "here" }, { sins: ["hang"] }], sins: ["ignore-signals"] },
    options: { deadlines: { stopMs: 200 } },
    onMessage: (run) => void run.stop("enough"),
    ends: { outcome: "interrupted", reason: "enough", signal: "SIGKILL" },
  },
  "drop-flag": both(
    refuses({ "drop-flag": "--strict-mcp-config" }, "attestation_failed"),
    refuses({ "drop-flag": "--strict-config" }, "attestation_failed"),
  ),
  "strip-settings": both(
    refuses("strip-settings", "attestation_failed"),
    refuses("strip-settings", "provider_policy"),
  ),
  "strip-settings-after-preflight": {
    script: inRun("strip-settings-after-preflight"),
    handlers: { PreToolUse: deny },
    // Which of the two is seen first depends on how busy the machine is.
    ends: { outcome: "unenforced", reason: /^(?:canary|unasked): / },
  },
  "report-version": both(refuses({ "report-version": "9.9.9" }, "provider_changed"), {
    script: inRun({ "report-version": "9.9.9" }),
    ends: success,
  }),
  "no-record": {
    script: inRun("no-record"),
    ends: { outcome: "unenforced", reason: /^session_record: / },
    files: { ran: true },
  },
  "lie-hooks-missing": both(
    refuses("lie-hooks-missing", "attestation_failed"),
    refuses("lie-hooks-missing", "provider_policy"),
  ),
  "lie-hook-disabled": refuses("lie-hook-disabled", "attestation_failed"),
  "lie-foreign-hook": refuses("lie-foreign-hook", "attestation_failed"),
  "lie-silence": {
    ...refuses("lie-silence", "attestation_failed"),
    options: { deadlines: { attestMs: 1500 } },
  },
  "lie-untrusted": refuses("lie-untrusted", "attestation_failed"),
  "never-call-back": {
    ...asCallbacks(inRun("never-call-back")),
    handlers: { PreToolUse: deny },
    ends: noCanary,
  },
  "lie-no-callbacks": { ...refuses("lie-no-callbacks", "attestation_failed"), transport: "callbacks" },
  "lie-all-disabled": refuses("lie-all-disabled", "provider_policy"),
  "lie-settings-errors": refuses("lie-settings-errors", "attestation_failed"),
  "lie-other-source": refuses("lie-other-source", "attestation_failed"),
  "lie-bare-mode": refuses("lie-bare-mode", "attestation_failed"),
  "lie-no-on-failure": refuses("lie-no-on-failure", "provider_unsupported"),
};
