// The page of a real fan-out: durable, of fakes, with a guard that denies in three of its runs.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fanOut, listFanOuts } from "../../src/fanout/index.ts";
import { createReport, type FunctionEntry, verifyReceipts } from "../../src/index.ts";
import { makeStage, type Stage } from "../fanout/support.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await makeStage({ steps: [{ tools: [{ shell: "rm -f nothing" }] }, { text: "done" }] });
});
afterEach(() => stage.remove());

const onlyId = async () => {
  const [only] = await listFanOuts({ stateDir: stage.stateDir });
  return only?.id ?? "";
};

test("shows each attempt, and exactly the three runs that were denied something, with the guard's reason", async () => {
  // A fake plays one script whatever it is asked: which is denied is told by where it works.
  const tasks = Array.from({ length: 7 }, (_, index) => {
    mkdirSync(join(stage.cwd, `place-${index}`));
    return { id: `task-${index}`, prompt: `Do ${index}`, cwd: `place-${index}` };
  });
  const handler: FunctionEntry["handler"] = ({ cwd }) =>
    /place-[135]$/.test(cwd)
      ? {
          hookSpecificOutput: {
            permissionDecision: "deny",
            permissionDecisionReason: "nothing is removed here",
          },
        }
      : undefined;
  const hooks = { PreToolUse: [{ hooks: [{ type: "function" as const, handler }] }] };
  const running = fanOut(tasks, { ...stage.options, hooks });
  const endings = [];
  for await (const ending of running) endings.push(ending);
  expect(endings.map(({ outcome }) => outcome)).toEqual(Array(7).fill("success"));

  const id = await onlyId();
  for (const what of [id, id.slice(0, 13), join(stage.stateDir, "fanouts", id)]) {
    const report = await createReport(what, { stateDir: stage.stateDir });
    expect(report).toMatchObject({ of: "fan_out", id });
    const { html } = report;
    expect(html.match(/data-task="task-\d"/g)).toHaveLength(7);
    const denied = html.slice(html.indexOf('id="denied"'), html.indexOf('id="tasks"'));
    expect([...denied.matchAll(/>(task-\d)</g)].map(([, name]) => name).sort()).toEqual([
      "task-1",
      "task-3",
      "task-5",
    ]);
    expect(denied.match(/nothing is removed here/g)).toHaveLength(3);
    expect(html.match(/receipts <span class="t-good">intact/g)).toHaveLength(7);
  }
});

test("what names no fan-out is refused, a receipt file of one of its runs is a page of that run", async () => {
  const running = fanOut([{ id: "one", prompt: "Do" }], stage.options);
  for await (const _ of running);
  await expect(createReport("ffffffff", { stateDir: stage.stateDir })).rejects.toMatchObject({
    issues: [{ code: "option_invalid", message: expect.stringContaining("no fan-out") }],
  });
  const { html } = await createReport(await onlyId(), { stateDir: stage.stateDir });
  const [, runId] = /id="run-([0-9a-f-]{36})"/.exec(html) ?? [];
  const path = join(stage.stateDir, "receipts", `${runId}.jsonl`);
  expect((await verifyReceipts(path)).state).toBe("intact");
  expect(readFileSync(path, "utf8")).toContain('"kind":"run_ended"');
  expect((await createReport(runId as string, { stateDir: stage.stateDir })).of).toBe("run");
});
