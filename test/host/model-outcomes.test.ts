// What becomes of a wrapped model call: one that cannot be made, or not be asked about, is an outcome too. It rejects for a hook's own error
// and without an origin alone.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { compileHostHooks, noOrigin } from "../../src/host/index.ts";
import { rewrite } from "../../src/profile/answer.ts";
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

test("close waits for a model call and for the hooks behind it, and lets no other begin", async () => {
  const seen = vi.fn();
  const { host, receipts } = play({ inProcess: [on("PostModelCall", seen)] });
  let answer: (text: string) => void = () => {};
  const model = host.wrapModel(
    () =>
      new Promise<string>((resolve) => {
        answer = resolve;
      }),
  );
  const first = model({}, turn);
  await vi.waitFor(() => expect(answer).not.toHaveLength(0));
  const closed = host.close();
  expect(await model({}, turn)).toMatchObject({ status: "failed", error: new Error("the host is closed") });
  answer("answer");
  expect(await first).toEqual({ status: "ok", response: "answer", attempts: 1 });
  await closed;
  expect(seen).toHaveBeenCalledOnce();
  expect(receipts).toHaveLength(1);
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
