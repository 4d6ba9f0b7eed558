// Calls that are abandoned at some station, and signals that many of them share.

import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { noOrigin } from "../../src/host/index.ts";
import { echo, on, play } from "./support.ts";

test("a call that is abandoned while a permission hook thinks is denied, and nobody is asked", async () => {
  const controller = new AbortController();
  const approve = vi.fn(() => true);
  const { host } = play({
    inProcess: [
      on(
        "PermissionRequest",
        () => {
          controller.abort();
          return new Promise(() => {});
        },
        { timeoutMs: 1_000 },
      ),
    ],
    permission: { approve },
  });
  const run = vi.fn();
  host.tools.register({ name: "rm", destructive: true, run });
  expect(await host.tools.invoke("rm", {}, { signal: controller.signal })).toMatchObject({
    status: "denied",
    stage: "permission",
    reason: expect.stringContaining("abandoned"),
  });
  expect(approve).not.toHaveBeenCalled();
  expect(run).not.toHaveBeenCalled();
});

test("a model call that is abandoned while a guard thinks is denied", async () => {
  const controller = new AbortController();
  const call = vi.fn();
  const { host } = play({
    inProcess: [
      on(
        "PreModelCall",
        () => {
          controller.abort();
          return new Promise(() => {});
        },
        { timeoutMs: 1_000 },
      ),
    ],
  });
  expect(await host.wrapModel(call)({}, { origin: noOrigin, signal: controller.signal })).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("abandoned"),
  });
  expect(call).not.toHaveBeenCalled();
});

test("a call that is abandoned while a guard of its prompt thinks does not wait for it, and is not made", async () => {
  const controller = new AbortController();
  const call = vi.fn();
  const { host } = play({
    inProcess: [
      on(
        "UserPromptSubmit",
        () => {
          controller.abort();
          return new Promise(() => {});
        },
        { timeoutMs: 1_000 },
      ),
    ],
  });
  const origin = host.ingress({ prompt: "hi" });
  expect(await host.wrapModel(call)({}, { origin, signal: controller.signal })).toMatchObject({
    status: "failed",
    attempts: 0,
  });
  expect(call).not.toHaveBeenCalled();
});

test("a call that is abandoned while a guard of its prompt thinks decides nothing for others of its turn", async () => {
  const controller = new AbortController();
  let answer: () => void = () => {};
  const { host } = play({
    inProcess: [
      on("UserPromptSubmit", () => {
        controller.abort();
        return new Promise((resolve) => {
          answer = () => resolve(undefined);
        });
      }),
    ],
  });
  const model = host.wrapModel(() => "answer");
  const origin = host.ingress({ prompt: "hi" });
  const abandoned = model({}, { origin, signal: controller.signal });
  const other = model({}, { origin });
  expect(await abandoned).toMatchObject({ status: "failed" });
  answer();
  expect(await other).toMatchObject({ status: "ok", response: "answer" });
});

test("a guard that runs once and was cut off has not had its once", async () => {
  const controller = new AbortController();
  const asked = vi.fn();
  const { host } = play({
    inProcess: [
      on(
        "PreToolUse",
        () => {
          asked();
          controller.abort();
          return new Promise(() => {});
        },
        { once: true, timeoutMs: 50 },
      ),
    ],
  });
  host.tools.register({ name: "T", run: () => 1 });
  expect(await host.tools.invoke("T", {}, { signal: controller.signal })).toMatchObject({ status: "denied" });
  expect(await host.tools.invoke("T", {})).toMatchObject({ status: "denied" });
  expect(asked).toHaveBeenCalledTimes(2);
});

test("a model call that was abandoned before is not made", async () => {
  const { host } = play();
  const call = vi.fn();
  const signal = AbortSignal.abort(new Error("enough"));
  expect(await host.wrapModel(call)({}, { origin: noOrigin, signal })).toEqual({
    status: "failed",
    error: new Error("enough"),
    attempts: 0,
  });
  expect(call).not.toHaveBeenCalled();
});

test("an answer that came although its call was abandoned is told to every hook behind it", async () => {
  const controller = new AbortController();
  const heard: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PostModelCall", ({ model_response }) => void heard.push(["first", model_response])),
      on("PostModelCall", ({ model_response }) => void heard.push(["second", model_response])),
    ],
  });
  const model = host.wrapModel(() => {
    controller.abort();
    return "answer";
  });
  await model({}, { origin: noOrigin, signal: controller.signal });
  expect(heard).toEqual([
    ["first", "answer"],
    ["second", "answer"],
  ]);
});

test("an event that is abandoned while its hook thinks ends it, and runs no further one", async () => {
  const controller = new AbortController();
  const later = vi.fn();
  const { host, receipts } = play({
    inProcess: [
      on(
        "Stop",
        () => {
          controller.abort();
          return new Promise(() => {});
        },
        { timeoutMs: 1_000 },
      ),
      on("Stop", later),
    ],
  });
  expect(await host.runStop({}, { signal: controller.signal })).toMatchObject({ decision: "none" });
  expect(later).not.toHaveBeenCalled();
  expect(receipts).toMatchObject([{ status: "failed", error: expect.stringContaining("abandoned") }]);
});

test.each<[string, AbortSignal | undefined]>([
  ["one signal", new AbortController().signal],
  ["no signal", undefined],
])("a hundred calls at once that share %s are no leak to warn of", async (_name, signal) => {
  const warned: Error[] = [];
  const note = (warning: Error) => void warned.push(warning);
  process.on("warning", note);
  try {
    const { host } = play({ inProcess: [on("PreToolUse", async () => undefined)] });
    const ran = echo(host);
    const context = signal === undefined ? {} : { signal };
    await Promise.all(Array.from({ length: 100 }, (_, n) => host.tools.invoke("Echo", { n }, context)));
    await nextTurn();
    expect(ran).toHaveLength(100);
    expect(warned).toEqual([]);
  } finally {
    process.off("warning", note);
  }
});
