// The queue alone: what starts when, and when it is idle.

import { expect, test } from "vitest";
import { RunQueue } from "../../src/supervisor/run-queue.ts";

function setUp(places: number) {
  const queue = new RunQueue(places);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (id: string, priority = 0) =>
    queue.add(
      () => {
        started.push(id);
        return new Promise((resolve) => ends.set(id, resolve));
      },
      { id, priority },
    );
  const end = async (id: string) => {
    ends.get(id)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, started, add, end };
}

test("starts as many at once as there are places, in the same turn, and the next when one has ended", async () => {
  const { queue, started, add, end } = setUp(2);
  for (const id of ["a", "b", "c", "d"]) add(id);
  expect(started).toEqual(["a", "b"]);
  expect([queue.pending, queue.size]).toEqual([2, 2]);
  await end("b");
  expect(started).toEqual(["a", "b", "c"]);
  expect([queue.pending, queue.size]).toEqual([2, 1]);
});

test("the highest priority comes first, equal ones as they came, and who has left never", async () => {
  const { queue, started, add, end } = setUp(1);
  add("first");
  for (const [id, priority] of [
    ["low", -1],
    ["a", 0],
    ["gone", 5],
    ["high", 5],
    ["b", 0],
  ] as const)
    add(id, priority);
  queue.remove("gone");
  queue.remove("first"); // has a place and keeps it
  expect([queue.pending, queue.size]).toEqual([1, 4]);
  for (const id of ["first", "high", "a", "b", "low"]) await end(id);
  expect(started).toEqual(["first", "high", "a", "b", "low"]);
  await queue.onIdle();
});

test("a paused queue starts nothing, goes on when it is started, and is idle without waiting ones", async () => {
  const { queue, started, add, end } = setUp(2);
  add("a");
  queue.pause();
  add("b");
  await end("a");
  expect(started).toEqual(["a"]);
  let isIdle = false;
  void queue.onIdle().then(() => {
    isIdle = true;
  });
  queue.start();
  expect(started).toEqual(["a", "b"]);
  queue.pause();
  add("c");
  await end("b");
  expect(isIdle).toBe(false);
  queue.remove("c");
  await end("none");
  expect(isIdle).toBe(true);
});
