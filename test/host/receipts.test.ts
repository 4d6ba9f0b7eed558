// What is written down of a hook that ran, what is not, and what a store that fails means.

import { expect, test, vi } from "vitest";
import { createHookHost, type HookRecord, type HostFault, type ReceiptStore } from "../../src/host/index.ts";
import { deny, rewrite } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

test("a receipt has ids, times, keys and a status, and neither input nor output", async () => {
  const { host, receipts } = play({
    runId: "run-1",
    sessionId: "session-1",
    ownerId: "tenant-7",
    scope: "project-3",
    inProcess: [
      on("PreToolUse", (envelope) => rewrite(envelope, { token: "hunter2-new" }), { id: "rewriter" }),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", { token: "hunter2-old" }, { toolUseId: "u1", agentId: "a1" });
  expect(receipts).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      seq: 0,
      owner_id: "tenant-7",
      scope: "project-3",
      run_id: "run-1",
      session_id: "session-1",
      call: 1,
      event: "PreToolUse",
      hook: "rewriter",
      hook_type: "function",
      failure_mode: "closed",
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      duration_ms: expect.any(Number),
      status: "ok",
      decision: "rewrite",
      background: false,
      tool_name: "Echo",
      tool_use_id: "u1",
      agent_id: "a1",
      input_keys: expect.arrayContaining(["session_id", "tool_name", "tool_input", "tool_kind"]),
      output_keys: [
        "hookSpecificOutput",
        "hookSpecificOutput.hookEventName",
        "hookSpecificOutput.updatedInput",
      ],
      exit: "exit 0",
      notes: [],
    },
  ]);
  expect(JSON.stringify(receipts)).not.toContain("hunter2");
});

test("an error in a receipt is redacted", async () => {
  const { host, receipts } = play({
    secrets: ["hunter2-hunter2"],
    inProcess: [on("PreToolUse", () => Promise.reject(new Error("bad key hunter2-hunter2")))],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(receipts[0]?.error).toBe("the handler threw: bad key [redacted]");
});

test("a hook that does not match is not called and leaves no receipt", async () => {
  const hook = vi.fn();
  const { host, receipts } = play({ inProcess: [on("PreToolUse", hook, { matcher: "Other" })] });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(hook).not.toHaveBeenCalled();
  expect(receipts).toEqual([]);
});

test("seq has no gap over concurrent calls, and call tells which hooks belong together", async () => {
  const { host, receipts } = play({
    inProcess: [
      on("PreToolUse", async () => undefined),
      on("PreToolUse", async () => undefined, { id: "second" }),
    ],
  });
  echo(host);
  await Promise.all(Array.from({ length: 50 }, (_, n) => host.tools.invoke("Echo", { n })));
  expect(receipts.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, n) => n));
  const perCall = groupByCall(receipts);
  expect(perCall.size).toBe(50);
  for (const group of perCall.values())
    expect(group.map(({ hook }) => hook)).toEqual(["inProcess[0]", "second"]);
});

function groupByCall<T extends { call: number }>(receipts: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const receipt of receipts) groups.set(receipt.call, [...(groups.get(receipt.call) ?? []), receipt]);
  return groups;
}

test("hooks are registered before their first receipt, without arguments", () => {
  const registered: HookRecord[] = [];
  createHookHost({
    ownerId: "o",
    inProcess: [on("PreToolUse", () => undefined, { id: "guard", matcher: "kind:shell", priority: 3 })],
    receipts: { register: (hook) => void registered.push(hook), write: () => {} },
  });
  expect(registered).toEqual([
    {
      id: "guard",
      owner_id: "o",
      event: "PreToolUse",
      type: "function",
      name: expect.any(String),
      matcher: "kind:shell",
      priority: 3,
      failure_mode: "closed",
      registered_at: expect.any(String),
    },
  ]);
});

test("a store that answers later is written to one receipt after another, and close waits for it", async () => {
  const written: number[] = [];
  let atOnce = 0;
  const store: ReceiptStore = {
    async write({ seq }) {
      atOnce += 1;
      expect(atOnce).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
      written.push(seq);
    },
    close: vi.fn(),
  };
  const host = createHookHost({ receipts: store, inProcess: [on("PreToolUse", () => undefined)] });
  echo(host);
  await Promise.all([1, 2, 3, 4].map((n) => host.tools.invoke("Echo", { n })));
  await host.close();
  expect(written).toEqual([0, 1, 2, 3]);
  expect(store.close).toHaveBeenCalledOnce();
});

test.each<[string, () => void | Promise<void>]>([
  [
    "throws",
    () => {
      throw new Error("disk full");
    },
  ],
  ["rejects", () => Promise.reject(new Error("disk full"))],
])(
  "a store that %s changes no verdict, is told as a fault for each receipt, and again by close",
  async (_name, write) => {
    const faults: HostFault[] = [];
    const host = createHookHost({
      receipts: { write },
      onFault: (fault) => void faults.push(fault),
      inProcess: [
        on("PreToolUse", (envelope) =>
          (envelope.tool_input as { n: number }).n === 2 ? deny(envelope, "two") : undefined,
        ),
      ],
    });
    echo(host);
    expect(await host.tools.invoke("Echo", { n: 1 })).toMatchObject({ status: "ok" });
    expect(await host.tools.invoke("Echo", { n: 2 })).toMatchObject({ status: "denied", reason: "two" });
    await expect(host.close()).rejects.toThrow("disk full");
    expect(faults).toEqual(Array(2).fill({ kind: "receipts_failed", detail: "disk full" }));
  },
);

test("without onFault a fault is a process warning", async () => {
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  const host = createHookHost({
    receipts: () => {
      throw new Error("disk full");
    },
    inProcess: [on("PreToolUse", () => undefined)],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(await warned).toMatchObject({ name: "BridleHostFault", message: "receipts_failed: disk full" });
});

test("an onFault that throws changes no verdict: the fault is a process warning then", async () => {
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  const host = createHookHost({
    receipts: () => {
      throw new Error("disk full");
    },
    onFault: () => {
      throw new Error("nobody listens");
    },
    inProcess: [on("PreToolUse", () => undefined)],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok" });
  expect(ran).toHaveLength(1);
  expect(await warned).toMatchObject({ name: "BridleHostFault" });
});

test("a hook that answers with a thousand fields makes no thousand words of its receipt", async () => {
  const answer = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`${"x".repeat(500)}${n}`, 1]));
  const { host, receipts } = play({ inProcess: [on("PreToolUse", () => answer)] });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(receipts[0]?.output_keys).toHaveLength(100);
  expect(receipts[0]?.output_keys[0]).toHaveLength(100);
});
