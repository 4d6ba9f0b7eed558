import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEventQueue, type QueueLimits, queueLimits } from "../../src/spawn/event-queue.ts";
import type { AgentEvent, AgentEventBody } from "../../src/spawn/events.ts";

const said = (text: string) => ({ type: "thinking", text }) as const;
const raw = (payload: string) => ({ type: "raw", payload }) as const;
const RESULT = { type: "result", result: {} } as unknown as AgentEventBody;

function makeQueue(limits?: QueueLimits) {
  const calls: string[] = [];
  const queue = createEventQueue(
    "run",
    { onFull: () => calls.push("full"), onDrained: () => calls.push("drained") },
    limits,
  );
  return { queue, calls };
}

async function collect(queue: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of queue) events.push(event);
  return events;
}

const seqs = (events: readonly AgentEvent[]) => events.map(({ seq }) => seq);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const dropped = (events: readonly AgentEvent[]) =>
  events.flatMap((event, at) => (event.type === "dropped" ? [{ at, count: event.count }] : []));

test("numbers have no gap from the first event on", async () => {
  const { queue } = makeQueue();
  for (const index of upTo(100)) queue.push(said(String(index)));
  queue.end();
  expect(seqs(await collect(queue))).toEqual(upTo(100));
});

test("a loop over many events that wait leaves the event loop its turns", async () => {
  const { queue } = makeQueue();
  for (const index of upTo(1000)) queue.push(said(String(index)));
  queue.end();
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await collect(queue);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(2);
});

test("events pushed while the consumer waits are delivered", async () => {
  const { queue } = makeQueue();
  const collecting = collect(queue);
  await Promise.resolve();
  queue.push(said("a"));
  await Promise.resolve();
  queue.push(said("b"));
  queue.end();
  expect(seqs(await collecting)).toEqual([0, 1]);
});

test("an event pushed after the end is not delivered", async () => {
  const { queue } = makeQueue();
  queue.push(RESULT);
  queue.end();
  queue.push(said("late"));
  expect((await collect(queue)).map(({ type }) => type)).toEqual(["result"]);
});

describe("without a consumer", () => {
  test("nothing is paused, whatever comes", () => {
    const { queue, calls } = makeQueue();
    for (let index = 0; index < 100_000; index++) queue.push(said("x"));
    expect(calls).toEqual([]);
  });

  test("the first events are kept, the others are told in their place, and the result comes", async () => {
    const { queue } = makeQueue();
    for (const index of upTo(2_000)) queue.push(said(String(index)));
    queue.push(RESULT);
    queue.end();
    const events = await collect(queue);
    expect(seqs(events)).toEqual(upTo(1_026));
    expect(dropped(events)).toEqual([{ at: 1_024, count: 976 }]);
    expect(events.at(-1)?.type).toBe("result");
  });

  test("large events are kept up to 16 MiB", async () => {
    const { queue } = makeQueue();
    for (const _ of upTo(100)) queue.push(said("x".repeat(1024 * 1024)));
    queue.end();
    const events = await collect(queue);
    expect(events.length).toBe(9);
    expect(dropped(events)).toEqual([{ at: 8, count: 92 }]);
  });
});

describe("a slow consumer", () => {
  test("pauses the provider once, and lets it go on when half is taken", async () => {
    const { queue, calls } = makeQueue();
    const iterator = queue[Symbol.asyncIterator]();
    for (let index = 0; index < 5_000; index++) queue.push(said("x"));
    expect(calls).toEqual(["full"]);
    for (let index = 0; index < 2_952; index++) await iterator.next();
    expect(calls).toEqual(["full"]);
    await iterator.next();
    expect(calls).toEqual(["full", "drained"]);
  });

  test("pauses the provider for a few large events", () => {
    const { queue, calls } = makeQueue();
    queue[Symbol.asyncIterator]();
    queue.push({ type: "tool_call", name: "Write", input: { content: ["x".repeat(8 * 1024 * 1024)] } });
    expect(calls).toEqual(["full"]);
  });

  test("that keeps up pauses nothing and loses nothing, however much has come", async () => {
    const { queue, calls } = makeQueue();
    const iterator = queue[Symbol.asyncIterator]();
    for (const index of upTo(200)) {
      queue.push(raw("x".repeat(1024 * 1024)));
      expect((await iterator.next()).value).toMatchObject({ type: "raw", seq: index });
    }
    expect(calls).toEqual([]);
  });

  test("loses diagnostics above the mark and nothing else", async () => {
    const { queue } = makeQueue();
    const events = collect(queue);
    for (const index of upTo(20_000)) {
      queue.push(raw("x"));
      if (index % 1_000 === 0) queue.push(said(String(index)));
    }
    queue.push({ type: "warning", code: "c", message: "m" });
    queue.push({ type: "unparsed", text: "x", bytes: 1 });
    queue.push({ type: "overflow", bytes: 1, sha256: "" });
    queue.push(RESULT);
    queue.end();
    const seen = await events;
    const kept = (type: AgentEvent["type"]) => seen.filter((event) => event.type === type).length;
    expect([kept("thinking"), kept("overflow"), kept("result")]).toEqual([20, 1, 1]);
    expect([kept("warning"), kept("unparsed")]).toEqual([0, 0]);
    expect(kept("raw")).toBeGreaterThan(4_096);
    expect(kept("raw") + dropped(seen).reduce((sum, { count }) => sum + count, 0)).toBe(20_002);
  });

  test("that sleeps while hooks fire without end keeps 64 MiB of them", async () => {
    const { queue } = makeQueue();
    const iterator = queue[Symbol.asyncIterator]();
    for (const _ of upTo(100)) queue.push(said("x".repeat(1024 * 1024)));
    queue.push(RESULT);
    queue.end();
    const seen = await collect({ [Symbol.asyncIterator]: () => iterator });
    expect(seen.map(({ type }) => type).slice(-2)).toEqual(["dropped", "result"]);
    expect(seen.length).toBe(34);
  });
});

describe("a consumer that leaves", () => {
  test("lets a paused provider go on", async () => {
    const { queue, calls } = makeQueue();
    const iterator = queue[Symbol.asyncIterator]();
    for (let index = 0; index < 5_000; index++) queue.push(said("x"));
    await iterator.next();
    await iterator.return?.();
    expect(calls).toEqual(["full", "drained"]);
  });

  test("before it asked for anything lets a paused provider go on, and nothing is paused any more", async () => {
    const { queue, calls } = makeQueue();
    const iterator = queue[Symbol.asyncIterator]();
    for (let index = 0; index < 5_000; index++) queue.push(said("x"));
    await iterator.return?.();
    for (let index = 0; index < 5_000; index++) queue.push(said("x"));
    expect(calls).toEqual(["full", "drained"]);
  });

  test("while it waits is let go", async () => {
    const { queue } = makeQueue();
    const iterator = queue[Symbol.asyncIterator]();
    const waiting = iterator.next();
    await iterator.return?.();
    expect(await waiting).toMatchObject({ done: true });
  });
});

test.each([1, 16, 100, 511])(
  "beside a line of %d MiB nothing that came with it is lost",
  async (mebibytes) => {
    const bytes = mebibytes * 1024 * 1024;
    const { queue } = makeQueue(queueLimits(bytes));
    const events = collect(queue);
    const most = 8 * 1024 * 1024;
    for (let left = bytes; left > 0; left -= most) queue.push(said("x".repeat(Math.min(left, most))));
    queue.push(raw("x"));
    queue.push(said("x"));
    queue.end();
    expect(dropped(await events)).toEqual([]);
  },
);

test("a second consumer is told that the events are taken", () => {
  const { queue } = makeQueue();
  queue[Symbol.asyncIterator]();
  expect(() => queue[Symbol.asyncIterator]()).toThrow(/one consumer/);
});

test("whatever comes and whenever it is read: no gap, no disorder, and what is kept and what is told add up", async () => {
  const level = (events: number, bytes: number) => ({ events, bytes });
  const limits = fc.record({
    beforeAttach: fc.constantFrom(level(3, 1e9), level(1e9, 400)),
    pause: fc.constant(level(4, 600)),
    diagnostics: fc.constantFrom(level(6, 1e9), level(1e9, 800)),
    everything: fc.constantFrom(
      level(Number.POSITIVE_INFINITY, 1e9),
      level(10, 1e9),
      queueLimits().everything,
    ),
  });
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constant("said" as const) },
    { weight: 4, arbitrary: fc.constant("raw" as const) },
    { weight: 4, arbitrary: fc.constant("read" as const) },
    { weight: 1, arbitrary: fc.constant("attach" as const) },
  );
  await fc.assert(
    fc.asyncProperty(limits, fc.array(step, { maxLength: 80 }), async (given, steps) => {
      const { queue, calls } = makeQueue(given);
      let iterator: AsyncIterator<AgentEvent> | undefined;
      const seen: AgentEvent[] = [];
      const pending: Promise<unknown>[] = [];
      let pushed = 0;
      let saidAttached = 0;
      const read = () => {
        const reading = iterator?.next().then(({ done, value }) => done !== true && void seen.push(value));
        if (reading !== undefined) pending.push(reading);
        return reading;
      };
      for (const what of steps) {
        if (what === "attach") iterator ??= queue[Symbol.asyncIterator]();
        else if (what === "read") {
          if (seen.length + pending.length < pushed) void read();
          for (let turn = 0; turn < 10; turn++) await Promise.resolve();
        } else {
          if (what === "said" && iterator !== undefined) saidAttached += 1;
          queue.push(what === "said" ? said(`${pushed}`) : raw(`${pushed}`));
          pushed += 1;
        }
      }
      queue.push(RESULT);
      queue.end();
      iterator ??= queue[Symbol.asyncIterator]();
      await Promise.all(pending);
      for (let last = -1; last !== seen.length; ) {
        last = seen.length;
        await read();
      }

      expect(seqs(seen)).toEqual(upTo(seen.length));
      expect(seen.at(-1)?.type).toBe("result");
      expect(seen.filter(({ type }) => type === "result").length).toBe(1);
      // Each event stands where it was pushed: what was dropped before it fills the place.
      let place = 0;
      for (const event of seen) {
        if (event.type === "thinking") expect(event.text).toBe(String(place));
        if (event.type === "raw") expect(event.payload).toBe(String(place));
        place += event.type === "dropped" ? event.count : 1;
      }
      expect(place).toBe(pushed + 1);
      expect(seen.some((event, at) => event.type === "dropped" && seen[at + 1]?.type === "dropped")).toBe(
        false,
      );
      if (given.everything.events > 1e9 && saidAttached > 0)
        expect(seen.filter(({ type }) => type === "thinking").length).toBeGreaterThanOrEqual(saidAttached);
      expect(calls).toEqual(calls.map((_, index) => (index % 2 === 0 ? "full" : "drained")));
      expect(calls.length % 2).toBe(0);
    }),
    { numRuns: 2_000 },
  );
});
