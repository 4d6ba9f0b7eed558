// What a host is made of: its roots, its owner, its secrets, its order of hooks, and its end.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { compileHostHooks, createHookHost, type HostFault, STOP_BLOCK_LIMIT } from "../../src/host/index.ts";
import { addContext } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bridle-host-test-")));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const sh = (body: string, env?: Record<string, string>) =>
  compileHostHooks(
    {
      PreToolUse: [
        {
          hooks: [
            {
              type: "command",
              command: ["/bin/sh", "-c", body],
              ...(env === undefined ? {} : { env }),
            },
          ],
        },
      ],
    },
    { cwd: root },
  );

test("eight blocks of Stop in a row are heeded", () => {
  expect(STOP_BLOCK_LIMIT).toBe(8);
});

test("commands know the project that they were declared in, wherever the host is", async () => {
  const hooks = await sh('echo "$CLAUDE_PROJECT_DIR $(pwd)" >&2; exit 2');
  const elsewhere = play({ hooks, cwd: "/" }).host;
  echo(elsewhere);
  expect(await elsewhere.tools.invoke("Echo", {})).toMatchObject({ reason: `${root} /` });
  const there = play({ hooks }).host;
  echo(there);
  expect(await there.tools.invoke("Echo", {})).toMatchObject({ reason: `${root} ${root}` });
});

test("without an owner receipts are the run's own", async () => {
  const { host, receipts } = play({ inProcess: [on("Stop", () => undefined)] });
  await host.runStop();
  expect(receipts).toMatchObject([{ owner_id: host.runId, run_id: host.runId }]);
});

test("a value that a hook is given under a secret's name is one, wherever it comes from", async () => {
  const hooks = await sh('echo "$GUARD_TOKEN" >&2; exit 2', { GUARD_TOKEN: "env:ORDINARY" });
  const { host } = play({ hooks, env: { ...process.env, ORDINARY: "not-for-models" } });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ reason: "[redacted]" });
});

test("a fault is told without its secrets", async () => {
  const faults: HostFault[] = [];
  const host = createHookHost({
    secrets: ["hunter2-hunter2"],
    receipts: () => {
      throw new Error("no login with hunter2-hunter2");
    },
    onFault: (fault) => void faults.push(fault),
    inProcess: [on("Stop", () => undefined)],
  });
  await host.runStop();
  expect(faults).toEqual([{ kind: "receipts_failed", detail: "no login with [redacted]" }]);
});

test("declared hooks run before one in process of the same priority, however many they are", async () => {
  const say = (word: string) => ({
    type: "command" as const,
    command: ["/bin/sh", "-c", `echo ${word}`],
  });
  const hooks = await compileHostHooks(
    { SessionStart: [{ hooks: [say("one"), say("two"), say("three")] }] },
    { cwd: root },
  );
  const { host } = play({
    hooks,
    inProcess: [on("SessionStart", (envelope) => addContext(envelope, "mine"), { id: "a first name" })],
  });
  const { context } = await host.runSessionStart({ source: "startup" });
  expect(context?.split("\n\n")).toEqual(["one", "two", "three", "mine"]);
});

test("a hook in process cannot take the name of a declared one", async () => {
  const hooks = await sh("exit 0");
  expect(() =>
    play({ hooks, inProcess: [on("PreToolUse", () => undefined, { id: "PreToolUse[0].hooks[0]" })] }),
  ).toThrow('another hook is named "PreToolUse[0].hooks[0]"');
});

test("the end of a session tells of its own contexts, and of no other session's", async () => {
  const faults: HostFault[] = [];
  const { host } = play({
    onFault: (fault) => void faults.push(fault),
    inProcess: [on("SessionStart", (envelope) => addContext(envelope, "hello"))],
  });
  for (const sessionId of ["s1", "s2"]) await host.runSessionStart({ source: "startup" }, { sessionId });
  await host.runSessionEnd({ reason: "other" }, { sessionId: "s1" });
  expect(faults.splice(0)).toEqual([
    { kind: "context_undelivered", detail: "1 contexts of hooks reached no model" },
  ]);
  await host.runSessionStart({ source: "startup" }, { sessionId: "s3" });
  await host.close();
  expect(faults).toEqual([{ kind: "context_undelivered", detail: "2 contexts of hooks reached no model" }]);
});

test("close closes the store once, however often it is called, and tells its error each time", async () => {
  const close = vi.fn(() => Promise.reject(new Error("disk full")));
  const host = createHookHost({ receipts: { write: () => {}, close }, onFault: () => {} });
  await expect(host.close()).rejects.toThrow("disk full");
  await expect(host.close()).rejects.toThrow("disk full");
  expect(close).toHaveBeenCalledOnce();
});

test("a closed host refuses every event, those that no hook hears too", async () => {
  const { host } = play();
  await host.close();
  await expect(host.runStop()).rejects.toThrow("the host is closed");
  await expect(host.runNotification({ notification_type: "idle" })).rejects.toThrow("the host is closed");
  await expect(host.runUserPromptSubmit(host.ingress({ prompt: "hi" }))).rejects.toThrow(
    "the host is closed",
  );
});

test("suppression and the model's name reach whoever fires an event by hand", async () => {
  const heard: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("Stop", () => ({ suppressOutput: true })),
      on("UserPromptSubmit", ({ model }) => void heard.push(model)),
    ],
  });
  expect(await host.runStop()).toEqual({ decision: "none", suppressed: true });
  await host.runUserPromptSubmit(host.ingress({ prompt: "hi" }), { model: "m-1" });
  await host.runUserPromptSubmit(host.ingress({ prompt: "hi" }));
  expect(heard).toEqual(["m-1", undefined]);
});
