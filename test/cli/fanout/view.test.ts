// The live view on a terminal that is played: what a person would see after each write.

import { describe, expect, it, test } from "vitest";
import { drawView, formatAge } from "../../../src/cli/fanout/draw.ts";
import { createLiveView } from "../../../src/cli/fanout/live-view.ts";
import { createProgress } from "../../../src/cli/fanout/progress.ts";
import type { FanOutProgress } from "../../../src/fanout/index.ts";
import { escapeForTerminal } from "../../../src/index.ts";

const ESCAPE = String.fromCharCode(27);

/** As much of a terminal as the view uses: lines that wrap, and the cursor. */
function playTerminal(columns: number) {
  let lines: string[] = [""];
  let row = 0;
  let column = 0;
  let writes = 0;
  const terminal = {
    columns,
    rows: 24,
    write(text: string) {
      writes += 1;
      const parts = text.match(new RegExp(`${ESCAPE}\\[(\\d*)([A-Za-z])|[\\s\\S]`, "g")) ?? [];
      for (const part of parts) {
        const [, count = "", command] = new RegExp(`^${ESCAPE}\\[(\\d*)([A-Za-z])$`).exec(part) ?? [];
        if (command === "A") row = Math.max(0, row - Number(count || 1));
        else if (command === "K") lines[row] = (lines[row] ?? "").slice(0, column);
        else if (command === "J") {
          lines[row] = (lines[row] ?? "").slice(0, column);
          lines = lines.slice(0, row + 1);
        } else if (command === "m") continue;
        else if (part === "\r") column = 0;
        else if (part === "\n") {
          row += 1;
          column = 0;
          lines[row] ??= "";
        } else {
          if (column === terminal.columns) {
            row += 1;
            column = 0;
          }
          const line = (lines[row] ?? "").padEnd(column);
          lines[row] = line.slice(0, column) + part + line.slice(column + 1);
          column += 1;
        }
      }
      return true;
    },
    /** Wraps what is there anew, as terminals do. */
    resize(to: number) {
      const before = lines.slice(0, row);
      const wrapped = before.flatMap((line) => line.match(new RegExp(`.{1,${to}}`, "g")) ?? [""]);
      lines = [...wrapped, ...lines.slice(row)];
      row = wrapped.length;
      terminal.columns = to;
    },
    seen: () => lines.filter((line) => line !== ""),
    get writes() {
      return writes;
    },
  };
  return terminal;
}

const NOW = 1_000_000;
const opened: FanOutProgress = {
  type: "opened",
  id: "f",
  directory: "/d",
  tasks: 10,
  finished: 2,
  isResumed: true,
};
const started = (index: number, attempt = 1): FanOutProgress => ({
  type: "attempt_started",
  index,
  id: `task-${index}`,
  attempt,
  runId: "r",
  cwd: "/",
});
const event = (index: number, body: object): FanOutProgress =>
  ({ type: "event", index, id: `task-${index}`, event: { seq: 0, runId: "r", ...body } }) as FanOutProgress;
const ended = (index: number, outcome: "success" | "failed" = "success"): FanOutProgress => ({
  type: "task_ended",
  ending: {
    fanOutId: "f",
    index,
    id: `task-${index}`,
    provider: "claude",
    outcome,
    reason: "",
    attempts: 1,
    endedAt: "",
  },
});
const attemptEnded = (index: number, retryInMs?: number): FanOutProgress => ({
  type: "attempt_ended",
  index,
  id: `task-${index}`,
  attempt: { attempt: 1, startedAt: "", costUsd: 0.5, denied: 1 },
  ...(retryInMs === undefined ? {} : { retryInMs }),
});

function progressOf(...said: FanOutProgress[]) {
  const progress = createProgress();
  for (const one of said) progress.note(one, NOW);
  return progress;
}

const screen = { columns: 100, rows: 24, isColoured: false };

describe("the picture", () => {
  test("has one line a live run: phase, last tool, denials, cost, age, try; and the total", () => {
    const progress = progressOf(
      opened,
      started(3, 2),
      event(3, { type: "tool_call", name: "Bash", input: {} }),
      event(3, {
        type: "hook",
        event: "PreToolUse",
        decision: "deny",
        toolName: "Bash",
        matched: [],
        durationMs: 1,
      }),
      event(3, { type: "usage", costUsd: 1.5 }),
      started(2),
      started(4),
      attemptEnded(4),
      ended(4),
    );
    expect(drawView(progress, screen, NOW + 65_000)).toEqual([
      "task-2  starting                    0 denied               1m05s",
      "task-3  tool      Bash              1 denied      $1.50    1m05s  try 2",
      "[#######.................] 3/10  2 live  1 denied  $0.50  ETA 7m35s",
    ]);
  });

  test("tells failures and tries to come", () => {
    const progress = progressOf(
      opened,
      started(1),
      attemptEnded(1, 500),
      started(2),
      attemptEnded(2),
      ended(2, "failed"),
    );
    expect(drawView(progress, screen, NOW).at(-1)).toContain("1 not successful  1 to be tried again");
  });

  test("fits the terminal, whatever its size", () => {
    const progress = progressOf(opened, ...Array.from({ length: 40 }, (_, at) => started(at)));
    for (const columns of [20, 40, 200])
      for (const rows of [4, 10, 24]) {
        const lines = drawView(progress, { columns, rows, isColoured: false }, NOW);
        expect(lines.length).toBeLessThan(rows);
        expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(Math.max(21, columns));
      }
    expect(drawView(progress, screen, NOW).at(-2)).toBe("… and 20 more");
  });

  test("has colours only where it may", () => {
    const progress = progressOf(opened, started(2), attemptEnded(2), ended(2, "failed"));
    expect(drawView(progress, screen, NOW).join("")).not.toContain(ESCAPE);
    expect(drawView(progress, { ...screen, isColoured: true }, NOW).join("")).toContain(`${ESCAPE}[31m`);
  });

  test("shows no control character of a task or a tool", () => {
    const bad: FanOutProgress = { ...started(1), id: `x${ESCAPE}[2J\n` } as FanOutProgress;
    const lines = drawView(
      progressOf(opened, bad, event(1, { type: "tool_call", name: "\u0007", input: {} })),
      screen,
      NOW,
    );
    for (const line of lines) expect(line).toBe(escapeForTerminal(line));
  });
});

it.each([
  [0, "0s"],
  [59_400, "59s"],
  [60_000, "1m00s"],
  [3_725_000, "1h02m"],
])("%d ms are %s", (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});

describe("on a terminal", () => {
  test("pictures replace each other, longer and shorter ones", () => {
    const terminal = playTerminal(40);
    const view = createLiveView(terminal);
    view.show(["one", "two", "three"]);
    view.show(["uno", "due"]);
    expect(terminal.seen()).toEqual(["uno", "due"]);
    view.show(["a", "b", "c", "d"]);
    expect(terminal.seen()).toEqual(["a", "b", "c", "d"]);
    view.clear();
    expect(terminal.seen()).toEqual([]);
  });

  test("what is printed stays above", () => {
    const terminal = playTerminal(40);
    const view = createLiveView(terminal);
    view.show(["picture"]);
    view.print(["first", "second"]);
    view.show(["other picture"]);
    view.print(["third"]);
    expect(terminal.seen()).toEqual(["first", "second", "third", "other picture"]);
  });

  test("one picture is one write, and the same one none", () => {
    const terminal = playTerminal(40);
    const view = createLiveView(terminal);
    view.show(["one", "two"]);
    view.show(["one", "two"]);
    expect(terminal.writes).toBe(1);
  });

  test.each([10, 80])("a terminal that is made %d wide keeps nothing of the old picture", (columns) => {
    const terminal = playTerminal(40);
    const view = createLiveView(terminal);
    view.print(["above"]);
    view.show(["x".repeat(30), "y".repeat(30)]);
    terminal.resize(columns);
    view.show(["new"]);
    expect(terminal.seen()).toEqual(["above", "new"]);
  });
});
