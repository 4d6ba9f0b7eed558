// Which events a host has, what it refuses when it is loaded, and what each event's own function does.

import { expect, test, vi } from "vitest";
import {
  type AgentHooksRefused,
  compileHostHooks,
  createHookHost,
  HOST_EVENTS,
  type HostHook,
  type HostOptions,
  noOrigin,
  STOP_BLOCK_LIMIT,
} from "../../src/host/index.ts";
import { addContext, deny } from "../../src/profile/answer.ts";
import { EVENT_NAMES, EVENTS, type EventName } from "../../src/profile/events.ts";
import { echo, on, play } from "./support.ts";

type Emit = (host: ReturnType<typeof play>["host"]) => Promise<unknown>;

const callEcho: Emit = (host) => {
  echo(host);
  return host.tools.invoke("Echo", {});
};

/** One emit site for each event. An event that is not here must be refused. */
const EMIT_SITES: Readonly<Record<string, Emit>> = {
  SessionStart: (host) => host.runSessionStart({ source: "startup" }),
  SessionEnd: (host) => host.runSessionEnd({ reason: "other" }),
  UserPromptSubmit: (host) => host.wrapModel(() => 1)({}, { origin: host.ingress({ prompt: "p" }) }),
  PreToolUse: callEcho,
  PostToolUse: callEcho,
  PostToolUseFailure: (host) => {
    host.tools.register({ name: "Fails", run: () => Promise.reject(new Error("no")) });
    return host.tools.invoke("Fails", {});
  },
  PermissionRequest: (host) => {
    host.tools.register({ name: "rm", destructive: true, run: () => 1 });
    return host.tools.invoke("rm", {});
  },
  Stop: (host) => host.runStop(),
  SubagentStart: (host) => host.runSubagentStart({ agent_type: "Explore" }),
  SubagentStop: (host) => host.runSubagentStop({ agent_type: "Explore" }),
  PreCompact: (host) => host.runPreCompact({ trigger: "auto" }),
  PostCompact: (host) => host.runPostCompact({ trigger: "auto" }),
  Notification: (host) => host.runNotification({ notification_type: "idle", message: "waiting" }),
  PreModelCall: (host) => host.wrapModel(() => 1)({}, { origin: noOrigin }),
  PostModelCall: (host) => host.wrapModel(() => 1)({}, { origin: noOrigin }),
  ErrorOccurred: (host) => host.wrapModel(() => Promise.reject(new Error("x")))({}, { origin: noOrigin }),
};

test("the host has an emit site for each of its events, and no others", () => {
  expect([...HOST_EVENTS].toSorted()).toEqual(Object.keys(EMIT_SITES).toSorted());
});

test.each(HOST_EVENTS)(
  "%s: its emit site fires it once, with the fields that every envelope has",
  async (event) => {
    const heard: unknown[] = [];
    const { host, receipts } = play({
      runId: "r",
      sessionId: "s",
      cwd: "/",
      inProcess: [on(event, (envelope) => void heard.push(envelope))],
    });
    await (EMIT_SITES[event] as Emit)(host);
    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatchObject({
      hook_event_name: event,
      session_id: "s",
      run_id: "r",
      cwd: "/",
      harness: "lionagi",
      profile: "v1",
    });
    expect(heard[0]).not.toHaveProperty("provider");
    expect(receipts).toMatchObject([{ event, run_id: "r", session_id: "s", status: "ok" }]);
  },
);

test.each(EVENT_NAMES.filter((event) => !(HOST_EVENTS as readonly EventName[]).includes(event)))(
  "%s has no emit site, and is refused when it is loaded",
  async (event) => {
    expect(() => play({ inProcess: [on(event, () => undefined)] })).toThrow(`does not fire ${event}`);
    const declaration = { [event]: [{ hooks: [{ type: "function" as const, handler: () => undefined }] }] };
    await expect(compileHostHooks(declaration, { cwd: "/" })).rejects.toMatchObject({
      issues: [{ code: "event_unsupported" }],
    });
  },
);

test("WorktreeCreate is refused by name", async () => {
  expect(() => play({ inProcess: [on("WorktreeCreate" as EventName, () => undefined)] })).toThrow(
    "WorktreeCreate",
  );
  const declaration = {
    WorktreeCreate: [{ hooks: [{ type: "function" as const, handler: () => undefined }] }],
  };
  await expect(compileHostHooks(declaration, { cwd: "/" })).rejects.toThrow("WorktreeCreate");
});

test("the blocking set is code, not configuration", () => {
  const gates = HOST_EVENTS.filter((event) => EVENTS[event].role === "gate");
  expect(gates).toEqual(["UserPromptSubmit", "PreToolUse", "PermissionRequest", "PreModelCall"]);
  expect(() => {
    (EVENTS.Notification as { role: string }).role = "gate";
  }).toThrow();
});

test.each(HOST_EVENTS.filter((event) => EVENTS[event].role === "observe"))(
  "%s: what an observer denies stops nothing",
  async (event) => {
    const { host } = play({ inProcess: [on(event, () => ({ decision: "block", reason: "no" }))] });
    expect(JSON.stringify(await (EMIT_SITES[event] as Emit)(host))).not.toContain('"deny');
  },
);

test("Stop: a block says go on, and more than eight in a row are not heeded", async () => {
  const active: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("Stop", (envelope) => {
        active.push(envelope.stop_hook_active);
        return deny(envelope, "tests fail");
      }),
    ],
  });
  for (let n = 1; n <= STOP_BLOCK_LIMIT; n += 1)
    expect(await host.runStop()).toEqual({ decision: "deny", reason: "tests fail", suppressed: false });
  expect(await host.runStop()).toMatchObject({ decision: "none", isLoop: true });
  expect(active).toEqual([false, ...Array(STOP_BLOCK_LIMIT).fill(true)]);
});

test("Stop: blocks of another session do not count, and one that lets go begins anew", async () => {
  let blocks = true;
  const { host } = play({
    inProcess: [on("Stop", (envelope) => (blocks ? deny(envelope, "x") : undefined))],
  });
  for (let n = 1; n <= STOP_BLOCK_LIMIT; n += 1) await host.runStop();
  expect(await host.runStop({}, { sessionId: "other" })).toMatchObject({ decision: "deny" });
  blocks = false;
  expect(await host.runStop()).toMatchObject({ decision: "none" });
  blocks = true;
  expect(await host.runStop()).toMatchObject({ decision: "deny" });
});

test("SubagentStart gives context, SubagentStop may block", async () => {
  const { host } = play({
    inProcess: [
      on("SubagentStart", (envelope) => addContext(envelope, "be brief"), { matcher: "Explore" }),
      on("SubagentStop", (envelope) => deny(envelope, "not done")),
    ],
  });
  expect(await host.runSubagentStart({ agent_type: "Explore" })).toEqual({
    decision: "none",
    context: "be brief",
    suppressed: false,
  });
  expect(await host.runSubagentStart({ agent_type: "Plan" })).toEqual({
    decision: "none",
    suppressed: false,
  });
  expect(await host.runSubagentStop({ agent_type: "Plan" }, { agentId: "a" })).toMatchObject({
    decision: "deny",
    reason: "not done",
  });
});

test("enabled: false short-circuits everything: no hook, no receipt, and every run* returns at once", async () => {
  const hook = vi.fn(() => ({ decision: "block" }));
  const { host, receipts } = play({ enabled: false, inProcess: HOST_EVENTS.map((event) => on(event, hook)) });
  expect(host.enabled).toBe(false);
  for (const event of HOST_EVENTS.filter((name) => name !== "PermissionRequest")) {
    host.tools.unregister("Echo");
    await (EMIT_SITES[event] as Emit)(host);
  }
  expect(hook).not.toHaveBeenCalled();
  expect(receipts).toEqual([]);
  const ran = echo(play({ enabled: false }).host);
  expect(ran).toEqual([]);
  expect(host.describe()).toHaveLength(HOST_EVENTS.length);
});

test("enabled: false leaves what is no hook: the schema, the final check and the permission mode", async () => {
  const { host } = play({
    enabled: false,
    securityPre: ({ bad }) => (bad === true ? { deny: "bad" } : undefined),
  });
  host.tools.register({ name: "rm", destructive: true, run: () => 1 });
  expect(await host.tools.invoke("rm", {})).toMatchObject({ status: "denied", stage: "permission" });
  expect(await host.tools.invoke("rm", { bad: true }, { permission: "ALLOW" })).toMatchObject({
    stage: "security_pre",
  });
});

test.each<[string, unknown, string]>([
  ["no object", 7, "expected { event, handler"],
  ["no handler", { event: "Stop" }, "inProcess[0].handler: expected a function"],
  ["an unknown event", { event: "BeforeTool", handler: () => 1 }, "event_unknown inProcess[0].event"],
  ["an event in another case", { event: "preToolUse", handler: () => 1 }, '"preToolUse" is not an event'],
  ["an unknown key", { event: "Stop", handler: () => 1, timeout: 3 }, "unknown key timeout"],
  ["a timeout of 0", { event: "Stop", handler: () => 1, timeoutMs: 0 }, "inProcess[0].timeoutMs"],
  ["a priority that is none", { event: "Stop", handler: () => 1, priority: "high" }, "inProcess[0].priority"],
  ["an unknown failure mode", { event: "Stop", handler: () => 1, onFailure: "ignore" }, 'got "ignore"'],
  [
    "closed where nothing can be stopped",
    { event: "SessionStart", handler: () => 1, onFailure: "closed" },
    "nothing can be stopped on SessionStart",
  ],
  [
    "a matcher that does not compile",
    { event: "PreToolUse", handler: () => 1, matcher: "(" },
    "matcher_invalid inProcess[0].matcher",
  ],
  ["a matcher without a subject", { event: "Stop", handler: () => 1, matcher: "Bash" }, "has no subject"],
  [
    "a background hook that would decide",
    { event: "PreToolUse", handler: () => 1, async: true, onFailure: "closed" },
    "decides nothing",
  ],
  [
    "a background hook that would grant",
    { event: "PreToolUse", handler: () => 1, async: true, grants: true },
    "decides nothing",
  ],
])("a hook with %s is refused when it is loaded", (_name, hook, message) => {
  expect(() => createHookHost({ inProcess: [hook as HostHook] })).toThrow(message);
});

test("every problem is reported at once, each with its place", () => {
  const hooks = [
    { event: "Nope", handler: () => 1 },
    { event: "Stop" },
    { event: "Stop", handler: () => 1, priority: 0.5 },
  ];
  try {
    createHookHost({ inProcess: hooks as unknown as HostHook[] });
    expect.unreachable();
  } catch (error) {
    expect((error as AgentHooksRefused).issues.map(({ path }) => path)).toEqual([
      "inProcess[0].event",
      "inProcess[1].handler",
      "inProcess[2].priority",
    ]);
  }
});

test("problems of options and of hooks are told together", () => {
  try {
    createHookHost({
      permission: { mode: "allow" },
      inProcess: [{ event: "Nope", handler: () => 1 }],
    } as never);
    expect.unreachable();
  } catch (error) {
    expect((error as AgentHooksRefused).issues.map(({ path }) => path)).toEqual([
      "permission.mode",
      "inProcess[0].event",
    ]);
  }
});

test("two hooks of one name are refused", () => {
  const hook = on("Stop", () => undefined, { id: "same" });
  expect(() => play({ inProcess: [hook, { ...hook }] })).toThrow('another hook is named "same"');
});

test.each<[string, unknown, string]>([
  ["an unknown option", { hook: [] }, "option_invalid hook"],
  ["a relative cwd", { cwd: "src" }, 'cwd: expected an absolute path, got "src"'],
  ["an empty session id", { sessionId: " " }, "sessionId"],
  ["hooks that are no list", { inProcess: {} }, "inProcess: expected a list"],
  ["enabled that is text", { enabled: "false" }, 'enabled: expected true or false, got "false"'],
  ["receipts that are none", { receipts: 1 }, "receipts: expected a store or a function"],
  ["a final check that is none", { securityPre: true }, "securityPre"],
  ["inner functions that are none", { inner: { pre: [1] } }, "inner.pre"],
  ["inner post functions that are none", { inner: { post: [() => 1, "x"] } }, "inner.post"],
  [
    "inner functions under another name",
    { inner: { before: [] } },
    "inner.before: expected one of pre, post",
  ],
  ["inner functions that are a list", { inner: [] }, "inner: expected { pre, post }"],
  ["permission under another name", { permission: { approver: () => true } }, "permission.approver"],
  ["permission that is a word", { permission: "DENY" }, "permission: expected { mode, "],
  ["permission that is null", { permission: null }, "permission: expected { mode, "],
  ["an approver who is none", { permission: { approve: true } }, "permission.approve: expected a function"],
  ["a destructive set that is a word", { permission: { destructive: "rm" } }, "permission.destructive"],
  ["a destructive set of no names", { permission: { destructive: [/rm/] } }, "permission.destructive"],
  ["an approver's time of 0", { permission: { timeoutMs: 0 } }, "permission.timeoutMs"],
  ["an approver's time without end", { permission: { timeoutMs: 86_400_001 } }, "permission.timeoutMs"],
  ["an approver's time that is text", { permission: { timeoutMs: "60" } }, "permission.timeoutMs"],
  ["a listener that is none", { onFault: "log" }, "onFault: expected a function"],
  ["secrets that are one", { secrets: "hunter2" }, 'secrets: expected a list of texts, got "a string"'],
  ["secrets that are no texts", { secrets: [7] }, "secrets: expected a list of texts"],
  ["an empty run id", { runId: "" }, "runId: expected a name"],
  ["an owner that is a number", { ownerId: 7 }, "ownerId: expected a name"],
  ["an empty scope", { scope: "" }, "scope: expected a name"],
  ["a token of nobody", { hooks: {} }, "token_forged hooks"],
])("a host with %s is refused", (_name, options, message) => {
  expect(() => createHookHost(options as HostOptions)).toThrow(message);
});

test("no field of an event says whose it is: session, run, event and folder are the host's own", async () => {
  const heard: unknown[] = [];
  const { host, receipts } = play({
    runId: "r",
    sessionId: "s",
    cwd: "/",
    inProcess: [on("Stop", (envelope) => void heard.push(envelope))],
  });
  const own = { session_id: "s", run_id: "r", cwd: "/", hook_event_name: "Stop", harness: "lionagi" };
  const forged = Object.fromEntries(Object.keys(own).map((key) => [key, "forged"]));
  await host.runStop({ ...forged, profile: "v0", turn: 3 });
  expect(heard).toMatchObject([{ ...own, profile: "v1", turn: 3 }]);
  expect(receipts).toMatchObject([{ session_id: "s", run_id: "r", event: "Stop" }]);
});

test("an event is told whose it is, and what its program says of it", async () => {
  const heard: unknown[] = [];
  const note = (envelope: unknown) => void heard.push(envelope);
  const { host } = play({ inProcess: [on("SubagentStop", note), on("Stop", note)] });
  await host.runSubagentStop({ agent_type: "Plan" }, { sessionId: "s2", agentId: "a1", agentType: "Plan" });
  await host.runStop({ stop_hook_active: true }, { agentType: "Explore" });
  expect(heard).toMatchObject([
    { session_id: "s2", agent_id: "a1", agent_type: "Plan" },
    { session_id: host.sessionId, stop_hook_active: true, agent_type: "Explore" },
  ]);
});

test("fields of an event that JSON cannot hold are refused, and say where", async () => {
  const { host } = play({ inProcess: [on("Notification", () => undefined)] });
  await expect(host.runNotification({ notification_type: "x", message: (() => 1) as never })).rejects.toThrow(
    "Notification.message is a function",
  );
});
