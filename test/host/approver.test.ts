// A person who is asked: how long, with what in hand, and that nothing of the question outlives its answer.

import { afterEach, expect, test, vi } from "vitest";
import type { ApprovalRequest } from "../../src/host/index.ts";
import { ask } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A host whose approver does with each request what the test says. */
function playWith(approve: (request: ApprovalRequest) => boolean | Promise<boolean>) {
  const asked: ApprovalRequest[] = [];
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => ask(envelope, "sure?"), { matcher: "Echo" })],
    permission: {
      approve: (request) => {
        asked.push(request);
        return approve(request);
      },
    },
  });
  const ran = echo(host);
  host.tools.register({ name: "rm", destructive: true, run: () => void ran.push({}) });
  return { host, asked, ran };
}

test.each(["Echo", "rm"])("%s: silence is a no after a minute, and not before", async (tool) => {
  const { host, asked } = playWith(() => new Promise(() => {}));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let isOver = false;
  const outcome = host.tools.invoke(tool, {}).finally(() => {
    isOver = true;
  });
  while (asked.length === 0) await vi.advanceTimersByTimeAsync(0);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await outcome).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("nobody answered within 60000 ms"),
  });
});

test.each(["Echo", "rm"])(
  "%s: an answered question is over: neither time nor the call ends it again",
  async (tool) => {
    const { host, asked } = playWith(() => true);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const controller = new AbortController();
    expect(await host.tools.invoke(tool, {}, { signal: controller.signal })).toMatchObject({ status: "ok" });
    expect(vi.getTimerCount()).toBe(0);
    controller.abort();
    expect(asked[0]?.signal.aborted).toBe(false);
  },
);

test("nobody is asked about a call that was abandoned before", async () => {
  const { host, asked, ran } = playWith(() => true);
  const signal = AbortSignal.abort(new Error("enough"));
  for (const tool of ["Echo", "rm"])
    expect(await host.tools.invoke(tool, {}, { signal })).toMatchObject({ status: "denied" });
  expect({ asked, ran }).toEqual({ asked: [], ran: [] });
  const approve = vi.fn(() => true);
  const plain = play({ permission: { approve } }).host;
  plain.tools.register({ name: "rm", destructive: true, run: () => 1 });
  expect(await plain.tools.invoke("rm", {}, { signal })).toMatchObject({
    status: "denied",
    stage: "permission",
    reason: expect.stringContaining("enough"),
  });
  expect(approve).not.toHaveBeenCalled();
});

test("what an approver does to the input that a guard asks about changes nothing", async () => {
  const { host, ran } = playWith(({ input }) => {
    input.command = "rm -rf /";
    return true;
  });
  await host.tools.invoke("Echo", { command: "ls" });
  expect(ran).toEqual([{ command: "ls" }]);
});

test("an approver is told the model's id of the call, where there is one", async () => {
  const { host, asked } = playWith(() => true);
  for (const tool of ["Echo", "rm"]) {
    await host.tools.invoke(tool, {}, { toolUseId: "u1" });
    await host.tools.invoke(tool, {});
  }
  expect(asked.map(({ toolUseId }) => toolUseId)).toEqual(["u1", undefined, "u1", undefined]);
});

test("an approver who throws something else than an error is no yes", async () => {
  const { host, ran } = playWith(() => Promise.reject("offline"));
  for (const tool of ["Echo", "rm"])
    expect(await host.tools.invoke(tool, {})).toMatchObject({
      status: "denied",
      reason: expect.stringContaining("offline"),
    });
  expect(ran).toEqual([]);
});
