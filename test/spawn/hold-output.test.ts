import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createOutputHold } from "../../src/spawn/hold-output.ts";

function heldStream(hasRoom?: () => boolean) {
  const stdout = new PassThrough({ highWaterMark: 1 << 20 });
  let chunks = 0;
  stdout.on("data", () => {
    chunks += 1;
  });
  return { stdout, hold: createOutputHold(stdout, hasRoom), chunks: () => chunks };
}

async function untilRead(chunks: () => number, count: number) {
  for (let waited = 0; waited < 5_000 && chunks() < count; waited += 10) await delay(10);
  expect(chunks()).toBe(count);
}

test("nothing is read while it is held, where no hook comes that way", async () => {
  const { stdout, hold, chunks } = heldStream();
  hold.pause();
  stdout.write("a");
  await delay(150);
  expect(chunks()).toBe(0);
  hold.resume();
  await untilRead(chunks, 1);
});

test("chunks are read one at a time while it is held and there is room, and none when there is not", async () => {
  let room = 2;
  const { stdout, hold, chunks } = heldStream(() => room-- > 0);
  hold.pause();
  for (let count = 0; count < 5; count++) stdout.write("a");
  await untilRead(chunks, 2);
  await delay(200);
  expect(chunks()).toBe(2);
  expect(stdout.isPaused()).toBe(true);
});

test("once it is let go everything is read, and nothing pauses it any more", async () => {
  const { stdout, hold, chunks } = heldStream(() => true);
  hold.pause();
  // The next chunk is being waited for now.
  await delay(120);
  hold.resume();
  for (let count = 0; count < 5; count++) stdout.write("a");
  await untilRead(chunks, 5);
  await delay(120);
  expect(stdout.isPaused()).toBe(false);
});

test("a stream that was closed is left alone", async () => {
  const { stdout, hold } = heldStream(() => true);
  hold.pause();
  stdout.destroy();
  await delay(120);
  hold.pause();
  await delay(120);
  expect(stdout.closed).toBe(true);
});
