// A wrapped model call that cannot be made, or not be asked about, is an outcome: it rejects for a hook's own error and without an origin alone.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { compileHostHooks, noOrigin } from "../../src/host/index.ts";
import { retry, rewrite } from "../../src/profile/answer.ts";
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
