// Anything can be thrown and returned: what cannot even be told is a failure like any other, never a crash and never silence.

import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import { HookExecutionError, type HostFault, noOrigin } from "../../src/host/index.ts";
import { echo, on, play } from "./support.ts";

const untellable = new Proxy(
  {},
  {
    get() {
      throw new Error("do not ask");
    },
    getPrototypeOf() {
      throw new Error("do not ask");
    },
  },
);
const badMessage = Object.defineProperty(new Error("x"), "message", {
  get() {
    throw new Error("do not ask");
  },
});
const ODD: readonly [string, unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["an object without a prototype", Object.create(null)],
  ["a Proxy that throws", untellable],
  ["an error whose message throws", badMessage],
  ["a symbol", Symbol("s")],
];

const thrower = (value: unknown) => () => {
  throw value;
};

test.each(ODD)(
  "a hook that throws %s is judged by its failure mode, and leaves a receipt",
  async (_name, value) => {
    const closed = play({ inProcess: [on("PreToolUse", thrower(value))] });
    const open = play({ inProcess: [on("PreToolUse", thrower(value), { onFailure: "open" })] });
    const error = play({ inProcess: [on("PreToolUse", thrower(value), { onFailure: "error" })] });
    for (const { host } of [closed, open, error]) echo(host);
    expect(await closed.host.tools.invoke("Echo", {})).toMatchObject({ status: "denied" });
    expect(await open.host.tools.invoke("Echo", {})).toMatchObject({ status: "ok" });
    const thrown: unknown = await error.host.tools.invoke("Echo", {}).catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(HookExecutionError);
    for (const { receipts } of [closed, open, error]) expect(receipts).toMatchObject([{ status: "failed" }]);
  },
);

test.each(ODD)(
  "a hook in the background that throws %s leaves a receipt, and the process lives",
  async (_name, value) => {
    const { host, receipts } = play({ inProcess: [on("PreToolUse", thrower(value), { async: true })] });
    echo(host);
    await host.tools.invoke("Echo", {});
    await vi.waitFor(() => expect(receipts).toMatchObject([{ status: "failed", background: true }]));
  },
);

test.each(ODD)(
  "a tool, a check, a schema, an approver and a model that throw %s come to an outcome",
  async (_name, value) => {
    const { host } = play({ permission: { approve: thrower(value) } });
    host.tools.register({ name: "tool", run: thrower(value) });
    host.tools.register({ name: "pre", pre: [thrower(value)], run: () => 1 });
    host.tools.register({ name: "post", post: [thrower(value)], run: () => 1 });
    host.tools.register({ name: "security", securityPre: thrower(value), run: () => 1 });
    host.tools.register({ name: "asked", destructive: true, run: () => 1 });
    const statuses = [];
    for (const name of ["tool", "pre", "post", "security", "asked"])
      statuses.push((await host.tools.invoke(name, {})).status);
    expect(statuses).toEqual(["failed", "denied", "failed", "denied", "denied"]);
    const model = play({ inProcess: [on("ErrorOccurred", () => undefined)] }).host.wrapModel(thrower(value));
    expect(await model({}, { origin: noOrigin })).toMatchObject({ status: "failed", attempts: 1 });
  },
);

test.each(ODD)("a store that throws %s changes no verdict, and is told", async (_name, value) => {
  const faults: HostFault[] = [];
  const { host } = play({
    receipts: thrower(value),
    onFault: (fault) => void faults.push(fault),
    inProcess: [on("PreToolUse", () => undefined)],
  });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok" });
  expect(faults).toMatchObject([{ kind: "receipts_failed" }]);
  await expect(host.close()).rejects.toBeInstanceOf(Error);
});

test("an answer that turns itself into nothing is a failure", async () => {
  const { host } = play({ inProcess: [on("PreToolUse", () => ({ toJSON: () => undefined }) as never)] });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "denied" });
});

test("an onFault that rejects is a warning, and nothing else", async () => {
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  const { host } = play({
    receipts: thrower(new Error("disk full")),
    onFault: (() => Promise.reject(new Error("nobody listens"))) as never,
    inProcess: [on("PreToolUse", () => undefined)],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  expect(await warned).toMatchObject({ name: "BridleHostFault" });
});

test("a guard that keeps the event loop to itself is late all the same", async () => {
  const { host, receipts } = play({
    inProcess: [
      on(
        "PreToolUse",
        () => {
          const until = performance.now() + 60;
          while (performance.now() < until);
          return undefined;
        },
        { timeoutMs: 20 },
      ),
    ],
  });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "denied" });
  expect(receipts).toMatchObject([{ status: "timed_out" }]);
});

test("a stream of Node is told by its kind, not by its insides", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [on("PostToolUse", ({ tool_response }) => void seen.push(tool_response))],
  });
  host.tools.register({ name: "T", run: () => Readable.from(["secret"]) });
  await host.tools.invoke("T", {});
  expect(seen).toEqual(["[object Object]"]);
});

test("a function behind the tool that answers something else withholds the result", async () => {
  for (const answer of [{ deny: "secret" }, true, {}, null]) {
    const { host } = play({ inner: { post: [(() => answer) as never] } });
    host.tools.register({ name: "T", run: () => "secret" });
    expect(await host.tools.invoke("T", {})).toMatchObject({ status: "failed", stage: "inner_post" });
  }
});
