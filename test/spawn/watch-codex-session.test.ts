import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type CodexSessionWatch,
  type SessionWatch,
  watchCodexSession,
} from "../../src/spawn/watch-codex-session.ts";

let home: string;
let watch: SessionWatch | undefined;
let faults: string[];
let warnings: string[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bridle-session-"));
  faults = [];
  warnings = [];
});
afterEach(() => {
  watch?.close();
  watch = undefined;
  rmSync(home, { recursive: true, force: true });
});

function start(
  {
    admitted = [],
    denied = [],
    undecided = [],
    decisions = 0,
    original,
  }: {
    admitted?: string[];
    denied?: string[];
    undecided?: string[];
    decisions?: number;
    original?: string;
  } = {},
  typing: CodexSessionWatch["typing"] = "refuse",
): { ended: string[] } {
  const ended: string[] = [];
  watch = watchCodexSession({
    home,
    ledger: {
      isAdmitted: (id) => admitted.includes(id),
      isDenied: (id) => denied.includes(id),
      isUndecided: (id) => undecided.includes(id),
      ranOriginal: (_id, ran) => original !== undefined && isDeepStrictEqual(ran, { command: original }),
      end: (id) => ended.push(id),
      decisions,
    },
    receipts: { write: () => {} },
    typing,
    onFault: (reason) => faults.push(reason),
    onWarning: ({ message }) => warnings.push(message),
  });
  return { ended };
}

const write = (name: string, type: string, payload: object) => {
  const path = join(home, "sessions", "2026", "11", "30", name);
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, `${JSON.stringify({ type, payload })}\n`);
};
const item = (id: string, name = "main.jsonl") =>
  write(name, "event_msg", {
    type: "item_completed",
    item: { type: "CommandExecution", id, command: ["sh", "-c", "touch a"] },
  });
const call = (call_id: string, name: string, args: object) =>
  write("main.jsonl", "response_item", {
    type: "function_call",
    call_id,
    name,
    arguments: JSON.stringify(args),
  });
const result = (call_id: string, output: string) =>
  write("main.jsonl", "response_item", { type: "function_call_output", call_id, output });

describe("a call that was carried out", () => {
  it("without an admitting verdict is told while the run lasts, with id, kind and input", async () => {
    start();
    item("exec-1");
    await expect.poll(() => faults).toHaveLength(1);
    expect(faults[0]).toBe(
      "unasked: tool call exec-1 (CommandExecution: touch a) ran without an admitting PreToolUse verdict",
    );
  });

  it("although it was denied is told", () => {
    start({ denied: ["exec-1"] });
    item("exec-1");
    expect(watch?.close()).toEqual([
      "unasked: tool call exec-1 (CommandExecution: touch a) ran although PreToolUse denied it",
    ]);
  });

  it("by a subagent, in a file of its own, is told", () => {
    start({ admitted: ["main"] });
    item("main");
    item("sub", "subagent.jsonl");
    expect(watch?.close()).toHaveLength(1);
  });

  it("and goes on in the background is told by its first result", () => {
    start();
    call("c1", "exec_command", { cmd: "sleep 100" });
    result("c1", "Chunk ID: 1\nProcess running with session ID 7\n");
    expect(watch?.close()).toEqual([
      "unasked: tool call c1 (exec_command: sleep 100) ran without an admitting PreToolUse verdict",
    ]);
  });

  it("with a result that says neither is told: what cannot be read is not believed", () => {
    start();
    call("c1", "exec_command", { cmd: "true" });
    result("c1", "a new way to say something");
    expect(watch?.close()).toHaveLength(1);
  });

  it("or was aborted without its hook being asked is told", () => {
    start({ undecided: ["c2"] });
    call("c1", "exec_command", { cmd: "true" });
    result("c1", "Wall time: 0.7 seconds\naborted by user");
    expect(watch?.close()).toHaveLength(1);
  });

  it("is told once, and also by the last look", () => {
    start();
    item("exec-1");
    item("exec-1");
    expect(watch?.close()).toHaveLength(1);
    expect(faults).toHaveLength(1);
  });
});

describe("nothing is held against", () => {
  it("a call that was aborted while its hook was asked", () => {
    start({ undecided: ["c1"] });
    call("c1", "exec_command", { cmd: "true" });
    result("c1", "Wall time: 0.7 seconds\naborted by user");
    expect(watch?.close()).toEqual([]);
  });

  it("an admitted call, which is noted as ended", () => {
    const { ended } = start({ admitted: ["c1"] });
    call("c1", "exec_command", { cmd: "true" });
    item("c1");
    result("c1", "Chunk ID: 1\n");
    expect(watch?.close()).toEqual([]);
    expect(ended).toEqual(["c1", "c1"]);
  });

  it.each([
    ["was denied", "Command blocked by PreToolUse hook: no"],
    ["codex refused itself", "failed to parse function arguments: missing field `cmd`"],
  ])("a call that %s", (_what, text) => {
    start({ denied: ["c1"] });
    call("c1", "exec_command", { cmd: "true" });
    result("c1", text);
    expect(watch?.close()).toEqual([]);
  });

  it("a tool that fires no PreToolUse", () => {
    start();
    call("c1", "update_plan", {});
    result("c1", "Plan updated");
    expect(watch?.close()).toEqual([]);
  });

  it("the calls of an earlier run that the session is resumed from, also when a subagent is given them", () => {
    item("old");
    call("older", "exec_command", { cmd: "true" });
    result("older", "Chunk ID: 1\n");
    start();
    item("old", "subagent.jsonl");
    call("older", "exec_command", { cmd: "true" });
    result("older", "Chunk ID: 1\n");
    expect(watch?.close()).toEqual([]);
  });
});

describe("a call that a guard rewrote", () => {
  it("and that ran as it was asked for is told", () => {
    start({ admitted: ["c1"], original: "touch a" });
    item("c1");
    expect(watch?.close()).toEqual(["rewrite_ignored: tool call c1 ran as the agent asked for it: touch a"]);
  });

  it("and that ran otherwise is fine", () => {
    start({ admitted: ["c1"], original: "touch b" });
    item("c1");
    expect(watch?.close()).toEqual([]);
  });
});

describe("the record itself", () => {
  it("missing although codex asked about a call is told", () => {
    start({ decisions: 1 });
    expect(watch?.close()[0]).toMatch(
      /^session_record: codex asked about 1 call\(s\) and recorded none below /,
    );
  });

  it("without a word about tools although codex asked about a call is told", () => {
    start({ decisions: 1 });
    write("main.jsonl", "session_meta", { id: "t" });
    expect(watch?.close()[0]).toMatch(/^session_record: /);
  });

  it("of an earlier run alone is not the record of this one", () => {
    item("old");
    start({ decisions: 1 });
    // A subagent that is given its history.
    item("old", "subagent.jsonl");
    expect(watch?.close()[0]).toMatch(/^session_record: /);
  });

  it("with the calls in it is fine", () => {
    start({ decisions: 1, admitted: ["c1"] });
    item("c1");
    expect(watch?.close()).toEqual([]);
  });

  it("missing when nothing was done is fine", () => {
    start();
    expect(watch?.close()).toEqual([]);
  });

  it("removed while the run lasts is told", () => {
    start();
    item("c1", "main.jsonl");
    watch?.look();
    rmSync(join(home, "sessions"), { recursive: true });
    watch?.look();
    expect(faults.at(-1)).toMatch(/^session_record: .*main\.jsonl is gone$/);
  });
});

describe("what is typed into a running process", () => {
  const type = (chars: string, text = "Chunk ID: 1\n") => {
    call("w1", "write_stdin", { session_id: 7, chars });
    result("w1", text);
  };

  it("ends the run under a shell guard, with the call named", () => {
    start();
    type("echo pwned > f\n");
    expect(watch?.close()[0]).toMatch(/^interactive_shell: tool call w1 typed into a process .*echo pwned/);
  });

  it.each([
    ["", "Chunk ID: 1\n"],
    ["\u0003", "Chunk ID: 1\n"],
    ["ls\n", "write_stdin failed: stdin is closed for this session"],
  ])("is let be when it drives nothing: %j, %s", (chars, text) => {
    start();
    type(chars, text);
    expect(watch?.close()).toEqual([]);
  });

  it("is a warning, once, when the caller admits it", () => {
    start({}, "warn");
    type("ls\n");
    type("ls\n");
    expect(watch?.close()).toEqual([]);
    expect(warnings).toHaveLength(1);
  });

  it("is nobody's business without a shell guard", () => {
    start({}, "ignore");
    type("ls\n");
    expect(watch?.close()).toEqual([]);
    expect(warnings).toEqual([]);
  });
});
