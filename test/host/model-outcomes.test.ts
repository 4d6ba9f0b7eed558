// What becomes of a wrapped model call: one that cannot be made, or not be asked about, is an outcome too. It rejects for a hook's own error
// and without an origin alone.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { compileHostHooks, noOrigin } from "../../src/host/index.ts";
import { addContext, retry, rewrite } from "../../src/profile/answer.ts";
import { on, play } from "./support.ts";

const turn = { origin: noOrigin };

test.each(["encode", "decode"] as const)(
  "an %s that throws is a denial, and the model is not called",
  async (which) => {
    const { host } = play({
      secrets: ["hunter2-hunter2"],
      inProcess: [on("PreModelCall", (envelope) => rewrite(envelope, { text: "new" }))],
    });
    const call = vi.fn();
    const broken = () => {
      throw new Error("no room for hunter2-hunter2");
    };
    const model = host.wrapModel<object, unknown>(call, { [which]: broken });
    expect(await model({}, turn)).toEqual({
      status: "denied",
      stage: "PreModelCall",
      reason: expect.stringContaining("no room for [redacted]"),
      attempts: 0,
    });
    expect(call).not.toHaveBeenCalled();
  },
);

test("a host that is closed while the model thinks keeps the answer, and tells that no hook was asked about it", async () => {
  const seen = vi.fn();
  const { host } = play({ inProcess: [on("PostModelCall", seen)] });
  const model = host.wrapModel(async () => {
    await host.close();
    return "answer";
  });
  expect(await model({}, turn)).toEqual({
    status: "ok",
    response: "answer",
    attempts: 1,
    feedback: "the hooks of PostModelCall could not be asked: the host is closed",
  });
  expect(seen).not.toHaveBeenCalled();
});

test("a host that no hook of PostModelCall hears has nothing to tell of an answer, closed or not", async () => {
  const { host } = play({ inProcess: [on("PreModelCall", () => undefined)] });
  const model = host.wrapModel(async () => {
    await host.close();
    return "answer";
  });
  expect(await model({}, turn)).toEqual({ status: "ok", response: "answer", attempts: 1 });
});

test("an encode that makes more than JSON is a denial that says where", async () => {
  const { host } = play({ inProcess: [on("PreModelCall", () => undefined)] });
  const model = host.wrapModel<object, unknown>(() => 1, { encode: () => ({ at: new Date(0) as never }) });
  expect(await model({}, turn)).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("model_request.at is not a plain object"),
  });
});

test("a rewrite of a request that is no object needs decode too", async () => {
  const { host } = play({
    inProcess: [on("PreModelCall", (envelope) => rewrite(envelope, { text: "new" }))],
  });
  const call = vi.fn();
  for (const request of ["text", ["text"]])
    expect(await host.wrapModel<unknown, unknown>(call)(request, turn)).toMatchObject({
      status: "denied",
      reason: expect.stringContaining("decode"),
    });
  expect(call).not.toHaveBeenCalled();
});

test("a cap of 0 and one of 100 are caps", () => {
  for (const maxRetries of [0, 100]) {
    const { host } = play({ maxRetries });
    expect(host.wrapModel(() => 1, { maxRetries })).toBeTypeOf("function");
  }
});

test("hooks are told which model is called, and by which sub-agent", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("UserPromptSubmit", ({ model }) => void seen.push(model)),
      on("PreModelCall", ({ model, agent_id }) => void seen.push([model, agent_id])),
      on("PostModelCall", ({ model, agent_id }) => void seen.push([model, agent_id])),
    ],
  });
  const origin = host.ingress({ prompt: "hi" });
  await host.wrapModel(() => 1)({}, { origin, model: "m-1", agentId: "a1" });
  expect(seen).toEqual(["m-1", ["m-1", "a1"], ["m-1", "a1"]]);
});

test("inject is asked only when there is something to tell", async () => {
  const { host } = play();
  const inject = vi.fn((request: object) => request);
  await host.wrapModel(() => 1, { inject })({}, turn);
  expect(inject).not.toHaveBeenCalled();
});

test("context that a failed call was given comes before what was said since", async () => {
  const { host } = play({
    inProcess: [on("SessionStart", (envelope) => addContext(envelope, String(envelope.source)))],
  });
  await host.runSessionStart({ source: "first" });
  const told: (readonly string[])[] = [];
  const model = host.wrapModel(async (_request: object, { context }) => {
    told.push(context);
    if (told.length > 1) return;
    await host.runSessionStart({ source: "second" });
    throw new Error("down");
  });
  await model({}, turn);
  await model({}, turn);
  expect(told).toEqual([["first"], ["first", "second"]]);
});

test("context of a hook behind the model call is told to the next one", async () => {
  const { host } = play({
    inProcess: [on("PostModelCall", (envelope) => addContext(envelope, "a word too long"), { once: true })],
  });
  const told: (readonly string[])[] = [];
  const model = host.wrapModel((_request: object, { context }) => void told.push(context));
  for (let n = 0; n < 3; n += 1) await model({}, turn);
  expect(told).toEqual([[], ["a word too long"], []]);
});

test("a host that is closed while a model call fails tells the model's error", async () => {
  const { host } = play({ inProcess: [on("ErrorOccurred", (envelope) => retry(envelope))] });
  const model = host.wrapModel(async () => {
    await host.close();
    throw new Error("overloaded");
  });
  expect(await model({}, turn)).toEqual({
    status: "failed",
    error: new Error("overloaded"),
    attempts: 1,
  });
});

test("hooks that have no place to run in are a denial: the model is not called", async () => {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), "bridle-host-test-")));
  try {
    const command = ["/bin/sh", "-c", "exit 0", "sh", "{run_dir}"];
    for (const event of ["UserPromptSubmit", "PreModelCall"] as const) {
      const hooks = await compileHostHooks({ [event]: [{ hooks: [{ type: "command", command }] }] }, { cwd });
      const { host } = play({ hooks });
      const call = vi.fn();
      vi.stubEnv("TMPDIR", join(cwd, "gone"));
      expect(await host.wrapModel(call)({}, { origin: host.ingress({ prompt: "hi" }) })).toMatchObject({
        status: "denied",
        stage: event,
        reason: expect.stringContaining(`the hooks of ${event} could not be asked: ENOENT`),
      });
      expect(call).not.toHaveBeenCalled();
      vi.unstubAllEnvs();
    }
  } finally {
    vi.unstubAllEnvs();
    await rm(cwd, { recursive: true, force: true });
  }
});
