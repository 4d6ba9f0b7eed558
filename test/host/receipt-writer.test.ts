// The writer of receipts by itself: the order in which a store is written to, which error is told, and what a step becomes.

import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ChainStep } from "../../src/broker/chain.ts";
import type { HookReceipt, ReceiptStore } from "../../src/host/index.ts";
import { createHostReceipts, type ReceiptOf } from "../../src/host/receipt-writer.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";

const redactor = createRedactor({ env: {}, values: ["hunter2-hunter2"] });

const OF: ReceiptOf = { owner_id: "o", call: 1, hook_type: "command", failure_mode: "closed" };

const step = (more: Partial<ChainStep> = {}): ChainStep => ({
  entryId: "guard",
  matched: true,
  decision: "none",
  verdict: { decision: "none" },
  notes: [],
  failed: false,
  durationMs: 0,
  exit: { kind: "exit", code: 0 },
  truncated: false,
  changed: false,
  leftovers: 0,
  background: false,
  outputKeys: [],
  envelope: {
    session_id: "s",
    cwd: "/",
    hook_event_name: "Stop",
    harness: "lionagi",
    profile: "v1",
    run_id: "r",
  },
  ...more,
});

function writeTo(store: ReceiptStore) {
  const told: Error[] = [];
  return { receipts: createHostReceipts(store, redactor, (error) => void told.push(error)), told };
}

function stamp(more: Partial<ChainStep>): HookReceipt {
  const written: HookReceipt[] = [];
  const { receipts } = writeTo({ write: (receipt) => void written.push(receipt) });
  receipts.write(step(more), OF);
  return written[0] as HookReceipt;
}

/** A store that finishes each write when the test says so. */
function slowStore() {
  const begun: number[] = [];
  const ended: number[] = [];
  const finish: (() => void)[] = [];
  const store = {
    closedAfter: [] as number[],
    write: ({ seq }: HookReceipt) => {
      begun.push(seq);
      return new Promise<void>((resolve) => {
        finish[seq] = () => {
          ended.push(seq);
          resolve();
        };
      });
    },
    close: async () => {
      store.closedAfter = [...ended];
    },
  };
  const end = async (seq: number) => {
    await expect.poll(() => finish[seq], { interval: 1 }).toBeDefined();
    finish[seq]?.();
  };
  return { store, begun, end };
}

test("a receipt that comes while others wait stands behind them all", async () => {
  const { store, begun, end } = slowStore();
  const { receipts } = writeTo(store);
  receipts.write(step(), OF);
  receipts.write(step(), OF);
  await end(0);
  await expect.poll(() => begun, { interval: 1 }).toEqual([0, 1]);
  receipts.write(step(), OF);
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  await end(1);
  await expect.poll(() => begun, { interval: 1 }).toEqual([0, 1, 2]);
  await end(2);
  await receipts.close();
});

test("close waits for what is written while it waits, and only then closes the store", async () => {
  const { store, end } = slowStore();
  const { receipts } = writeTo(store);
  receipts.write(step(), OF);
  const closed = receipts.close();
  receipts.write(step(), OF);
  await end(0);
  await end(1);
  expect(await closed).toBeUndefined();
  expect(store.closedAfter).toEqual([0, 1]);
});

test("close ends when the store has closed, and not before", async () => {
  const order: string[] = [];
  const { receipts } = writeTo({
    write: () => {},
    close: async () => {
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      order.push("the store");
    },
  });
  await receipts.close();
  order.push("the writer");
  expect(order).toEqual(["the store", "the writer"]);
});

test("each error of a store is told, and close returns the first; a failing close is one", async () => {
  let n = 0;
  const failing = writeTo({
    write: () => {
      n += 1;
      throw new Error(`failure ${n}`);
    },
    close: () => Promise.reject(new Error("cannot close")),
  });
  failing.receipts.write(step(), OF);
  failing.receipts.write(step(), OF);
  expect(await failing.receipts.close()).toEqual(new Error("failure 1"));
  expect(failing.told.map(({ message }) => message)).toEqual(["failure 1", "failure 2", "cannot close"]);
  const atTheEnd = writeTo({ write: () => {}, close: () => Promise.reject("cannot close") });
  expect(await atTheEnd.receipts.close()).toEqual(new Error("cannot close"));
  expect(atTheEnd.told).toEqual([new Error("cannot close")]);
});

test("a store that rejects one receipt is given the next", async () => {
  const written: number[] = [];
  const { receipts } = writeTo({
    write: async ({ seq }) => {
      if (seq === 0) throw new Error("once");
      written.push(seq);
    },
  });
  receipts.write(step(), OF);
  receipts.write(step(), OF);
  expect(await receipts.close()).toEqual(new Error("once"));
  expect(written).toEqual([1]);
});

test("a receipt says when its hook was started, and how long it ran, to the microsecond", () => {
  const before = Date.now();
  const { started_at, duration_ms } = stamp({ durationMs: 60_000.123_456 });
  const after = Date.now();
  expect(Date.parse(started_at)).toBeGreaterThanOrEqual(before - 60_001);
  expect(Date.parse(started_at)).toBeLessThanOrEqual(after - 60_000);
  expect(duration_ms).toBe(60_000.123);
});

const note = { code: "hook_failed", detail: "key hunter2-hunter2 is wrong" } as const;

test.each<[Partial<ChainStep>, Partial<HookReceipt>]>([
  [
    { exit: { kind: "exit", code: 3 }, failed: true, notes: [note] },
    { exit: "exit 3", status: "failed" },
  ],
  [{ exit: { kind: "signal", signal: "SIGSEGV" }, failed: true, notes: [note] }, { exit: "SIGSEGV" }],
  [
    { exit: { kind: "timeout", timeoutMs: 5 }, failed: true, notes: [note] },
    { exit: "timeout", status: "timed_out" },
  ],
  [{ exit: { kind: "failed", message: "x" }, failed: true, notes: [note] }, { exit: "failed" }],
  [
    { exit: undefined, failed: true, changed: true, notes: [note] },
    { exit: "not run", status: "failed" },
  ],
])("%o is written as %o, with its error redacted", (of, written) => {
  expect(stamp(of)).toMatchObject({
    ...written,
    error: "key [redacted] is wrong",
    notes: ["hook_failed"],
  });
});

test("what a guard said in words of its own is no error of it", () => {
  expect(stamp({ notes: [{ code: "denied_by_exit", detail: "exit 2" }] })).not.toHaveProperty("error");
});
