// A shared look: taken after everybody who has a part in it has asked, and not more often than needed.

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { shareLook } from "../../src/exec/share-look.ts";
import { settleAll } from "../../src/settle-all.ts";

test("all who ask in the same turn of the loop share one look, which sees what was there when the last of them asked", async () => {
  const world: string[] = [];
  let looks = 0;
  const look = shareLook(() => {
    looks += 1;
    return [...world];
  });
  const first = look();
  world.push("came later");
  const second = look();
  expect([await first, await second]).toEqual([["came later"], ["came later"]]);
  expect(looks).toBe(1);
});

test("who asks after a look gets another one", async () => {
  let looks = 0;
  const look = shareLook(() => ++looks);
  expect([await look(), await look()]).toEqual([1, 2]);
});

test("a look that takes long is followed by a rest, and those who ask in it share the next", async () => {
  let looks = 0;
  const look = shareLook(() => {
    looks += 1;
    const until = performance.now() + 5;
    while (performance.now() < until);
  });
  await look();
  await Promise.all(Array.from({ length: 5 }, (_, n) => delay(n).then(look)));
  expect(looks).toBeLessThan(6);
});

test("what a look throws is thrown to all, and the next one is free of it", async () => {
  let isBroken = true;
  const look = shareLook(() => {
    if (isBroken) throw new Error("no /proc");
    return "seen";
  });
  const asked = await Promise.allSettled([look(), look()]);
  expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isBroken = false;
  expect(await look()).toBe("seen");
});

test("settleAll waits for all steps before it tells of a failure", async () => {
  const done: string[] = [];
  const slow = delay(20).then(() => void done.push("slow"));
  await expect(settleAll([Promise.reject(new Error("failed")), slow])).rejects.toThrow("failed");
  expect(done).toEqual(["slow"]);
});
