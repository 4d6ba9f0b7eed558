// Starts of processes: one in a turn of the event loop, a bounded number of runs at a time, in the order they came.

import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { withStartPlace } from "../../src/exec/start-limit.ts";
import { takeStartTurn } from "../../src/exec/start-turn.ts";

test("of starts at the same time each has a turn of the loop for itself, in the order they came", async () => {
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const started: { name: number; turn: number }[] = [];
  await Promise.all(
    Array.from({ length: 20 }, async (_, name) => {
      await takeStartTurn();
      started.push({ name, turn });
    }),
  );
  isOver = true;
  expect(started.map(({ name }) => name)).toEqual(Array.from({ length: 20 }, (_, name) => name));
  expect(new Set(started.map((it) => it.turn)).size).toBe(20);
});

test("a start that comes alone does not wait for a turn", async () => {
  for (let n = 0; n < 4; n += 1) await nextTurn();
  let hasTurn = false;
  void takeStartTurn().then(() => {
    hasTurn = true;
  });
  await Promise.resolve();
  await Promise.resolve();
  expect(hasTurn).toBe(true);
});

test("no more than two runs are started at a time, in order, and a failure frees its place", async () => {
  let atWork = 0;
  let most = 0;
  const order: number[] = [];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 12 }, (_, n) =>
      withStartPlace(async () => {
        order.push(n);
        atWork += 1;
        most = Math.max(most, atWork);
        await delay(1);
        atWork -= 1;
        if (n % 2 === 0) throw new Error("start failed");
        return n;
      }),
    ),
  );
  expect(most).toBe(2);
  expect(order).toEqual(Array.from({ length: 12 }, (_, n) => n));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(6);
  expect(await withStartPlace(async () => "free")).toBe("free");
});
