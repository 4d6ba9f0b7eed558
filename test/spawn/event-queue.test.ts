import { expect, test } from "vitest";
import { type AgentEvent, createEventQueue } from "../../src/spawn/events.ts";

const body = (text: string) => ({ type: "thinking", text }) as const;

function makeQueue() {
  const calls: string[] = [];
  const queue = createEventQueue("run", {
    onFull: () => calls.push("full"),
    onDrained: () => calls.push("drained"),
  });
  return { queue, calls };
}

async function collect(queue: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of queue) events.push(event);
  return events;
}

test("numbers have no gap from the first event on", async () => {
  const { queue } = makeQueue();
  for (let index = 0; index < 100; index++) queue.push(body(String(index)));
  queue.end();
  expect((await collect(queue)).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 100 }, (_, index) => index),
  );
});

test("events pushed while the consumer waits are delivered", async () => {
  const { queue } = makeQueue();
  const collecting = collect(queue);
  await Promise.resolve();
  queue.push(body("a"));
  await Promise.resolve();
  queue.push(body("b"));
  queue.end();
  expect((await collecting).map(({ seq }) => seq)).toEqual([0, 1]);
});

test("without a consumer nothing is paused, whatever comes", () => {
  const { queue, calls } = makeQueue();
  for (let index = 0; index < 100_000; index++) queue.push(body("x"));
  expect(calls).toEqual([]);
});

test("a slow consumer pauses the provider once, and one that has caught up lets it go on", async () => {
  const { queue, calls } = makeQueue();
  const iterator = queue[Symbol.asyncIterator]();
  for (let index = 0; index < 5_000; index++) queue.push(body("x"));
  expect(calls).toEqual(["full"]);
  queue.end();
  while (!(await iterator.next()).done);
  expect(calls).toEqual(["full", "drained"]);
});

test("a consumer that leaves lets a paused provider go on", async () => {
  const { queue, calls } = makeQueue();
  const iterator = queue[Symbol.asyncIterator]();
  for (let index = 0; index < 5_000; index++) queue.push(body("x"));
  await iterator.next();
  await iterator.return?.();
  expect(calls).toEqual(["full", "drained"]);
});

test("a second consumer is told that the events are taken", () => {
  const { queue } = makeQueue();
  queue[Symbol.asyncIterator]();
  expect(() => queue[Symbol.asyncIterator]()).toThrow(/one consumer/);
});
