// Permission modes: of one call, over destructive tools, apart from any session's policy.

import { expect, test, vi } from "vitest";
import type { HostOptions, PermissionMode } from "../../src/host/index.ts";
import { deny } from "../../src/profile/answer.ts";
import { on, play } from "./support.ts";

const allow = { hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "allow" } } };
const yes = on("PermissionRequest", () => allow, { grants: true });
const weakYes = on("PermissionRequest", () => allow);
const no = on("PermissionRequest", (envelope) => deny(envelope, "a hook says no"));

interface Row {
  readonly mode: PermissionMode | undefined;
  readonly hooks: NonNullable<HostOptions["inProcess"]>;
  readonly approver: "yes" | "no" | "none";
  readonly runs: boolean;
  /** The approver is asked. */
  readonly asked: boolean;
}

const ROWS: readonly Row[] = [
  { mode: "ALLOW", hooks: [], approver: "none", runs: true, asked: false },
  { mode: "ALLOW", hooks: [no], approver: "no", runs: true, asked: false },
  { mode: "DENY", hooks: [yes], approver: "yes", runs: false, asked: false },
  { mode: "ASK", hooks: [], approver: "none", runs: false, asked: false },
  { mode: "ASK", hooks: [], approver: "yes", runs: true, asked: true },
  { mode: "ASK", hooks: [], approver: "no", runs: false, asked: true },
  { mode: "ASK", hooks: [yes], approver: "no", runs: false, asked: true },
  { mode: "ASK", hooks: [yes], approver: "none", runs: false, asked: false },
  { mode: "ASK", hooks: [no], approver: "yes", runs: false, asked: false },
  { mode: "AUTO", hooks: [], approver: "none", runs: false, asked: false },
  { mode: "AUTO", hooks: [], approver: "yes", runs: true, asked: true },
  { mode: "AUTO", hooks: [yes], approver: "none", runs: true, asked: false },
  { mode: "AUTO", hooks: [weakYes], approver: "none", runs: false, asked: false },
  { mode: "AUTO", hooks: [yes, no], approver: "yes", runs: false, asked: false },
  { mode: "AUTO", hooks: [no], approver: "yes", runs: false, asked: false },
  { mode: undefined, hooks: [], approver: "none", runs: false, asked: false },
];

test.each(ROWS)(
  "$mode, approver $approver, $hooks.length hooks: runs $runs, asked $asked",
  async ({ mode, hooks, approver, runs, asked }) => {
    const approve = vi.fn(() => approver === "yes");
    const { host } = play({ inProcess: hooks, permission: approver === "none" ? {} : { approve } });
    const run = vi.fn();
    host.tools.register({ name: "rm", destructive: true, run });
    const outcome = await host.tools.invoke(
      "rm",
      { path: "x" },
      mode === undefined ? {} : { permission: mode },
    );
    expect(outcome.status).toBe(runs ? "ok" : "denied");
    if (!runs) expect(outcome).toMatchObject({ stage: "permission" });
    expect(run).toHaveBeenCalledTimes(runs ? 1 : 0);
    expect(approve).toHaveBeenCalledTimes(asked ? 1 : 0);
  },
);

test("a tool outside of the destructive set is not asked about, whatever the mode", async () => {
  const approve = vi.fn(() => false);
  const hook = vi.fn();
  const { host } = play({ inProcess: [on("PermissionRequest", hook)], permission: { approve } });
  host.tools.register({ name: "ls", run: () => 1 });
  for (const permission of ["ALLOW", "DENY", "ASK", "AUTO"] as const)
    expect(await host.tools.invoke("ls", {}, { permission })).toMatchObject({ status: "ok" });
  expect(approve).not.toHaveBeenCalled();
  expect(hook).not.toHaveBeenCalled();
});

test("a call's mode stands above the host's, and tools may be named destructive there", async () => {
  const { host } = play({ permission: { mode: "DENY", destructive: ["ls"] } });
  host.tools.register({ name: "ls", run: () => 1 });
  expect(await host.tools.invoke("ls", {})).toMatchObject({
    status: "denied",
    reason: "ls is destructive, and the mode is DENY",
  });
  expect(await host.tools.invoke("ls", {}, { permission: "ALLOW" })).toMatchObject({ status: "ok" });
});

test("a guard denies whatever the mode and the approver say", async () => {
  const { host } = play({
    inProcess: [on("PreToolUse", (envelope) => deny(envelope, "never"))],
    permission: { approve: () => true },
  });
  const run = vi.fn();
  host.tools.register({ name: "rm", destructive: true, run });
  for (const permission of ["ALLOW", "ASK", "AUTO"] as const)
    expect(await host.tools.invoke("rm", {}, { permission })).toMatchObject({
      status: "denied",
      stage: "PreToolUse",
    });
  expect(run).not.toHaveBeenCalled();
});

test("what is approved is what runs: the approver sees the input after every rewrite", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inner: { pre: [(input) => ({ input: { ...input, path: `/srv/${input.path}` } })] },
    permission: {
      approve: ({ input }) => {
        seen.push(structuredClone(input));
        input.path = "/etc/passwd";
        return true;
      },
    },
  });
  const run = vi.fn();
  host.tools.register({ name: "rm", destructive: true, run });
  await host.tools.invoke("rm", { path: "x" });
  expect(seen).toEqual([{ path: "/srv/x" }]);
  expect(run.mock.calls[0]?.[0]).toEqual({ path: "/srv/x" });
});

test("an allow that may grant clears AUTO, unless what it allowed was rewritten behind it", async () => {
  const grants = on(
    "PreToolUse",
    () => ({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" } }),
    { grants: true },
  );
  const plain = play({ inProcess: [grants] }).host;
  plain.tools.register({ name: "rm", destructive: true, run: () => 1 });
  expect(await plain.tools.invoke("rm", {})).toMatchObject({ status: "ok" });
  const rewriting = play({
    inProcess: [grants],
    inner: { pre: [(input) => ({ input: { ...input, all: true } })] },
  }).host;
  rewriting.tools.register({ name: "rm", destructive: true, run: () => 1 });
  expect(await rewriting.tools.invoke("rm", {})).toMatchObject({ status: "denied", stage: "permission" });
});

test.each<[string, () => unknown, string]>([
  ["never answers", () => new Promise(() => {}), "nobody answered within 20 ms"],
  [
    "throws",
    () => {
      throw new Error("offline");
    },
    "offline",
  ],
  ["answers 1", () => 1, "it was refused"],
])("an approver who %s denies", async (_name, approve, reason) => {
  const { host } = play({ permission: { approve: approve as () => boolean, timeoutMs: 20 } });
  const run = vi.fn();
  host.tools.register({ name: "rm", destructive: true, run });
  expect(await host.tools.invoke("rm", {})).toMatchObject({
    status: "denied",
    stage: "permission",
    reason: expect.stringContaining(reason),
  });
  expect(run).not.toHaveBeenCalled();
});

test("an approver who is late is told by its signal", async () => {
  let late: AbortSignal | undefined;
  const { host } = play({
    permission: {
      timeoutMs: 20,
      approve: ({ signal }) => {
        late = signal;
        return new Promise(() => {});
      },
    },
  });
  host.tools.register({ name: "rm", destructive: true, run: () => 1 });
  await host.tools.invoke("rm", {});
  expect(late?.aborted).toBe(true);
});

test("a call that is abandoned while somebody thinks is denied", async () => {
  const controller = new AbortController();
  const { host } = play({
    permission: {
      approve: () => {
        controller.abort();
        return new Promise<boolean>(() => {});
      },
    },
  });
  host.tools.register({ name: "rm", destructive: true, run: () => 1 });
  expect(await host.tools.invoke("rm", {}, { signal: controller.signal })).toMatchObject({
    status: "denied",
    stage: "permission",
  });
});

test("an unknown mode refuses: it must not be read as one that allows", async () => {
  const { host } = play();
  const run = vi.fn();
  host.tools.register({ name: "rm", destructive: true, run });
  await expect(host.tools.invoke("rm", {}, { permission: "allow" as PermissionMode })).rejects.toThrow(
    'got "allow"',
  );
  expect(() => play({ permission: { mode: "YOLO" as PermissionMode } })).toThrow('got "YOLO"');
  expect(run).not.toHaveBeenCalled();
});
