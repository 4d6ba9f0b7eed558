// What one session of a host shares: hooks that run once, hooks in the background, and what a model has not been told yet.

import { expect, test, vi } from "vitest";
import { type HostFault, noOrigin } from "../../src/host/index.ts";
import { addContext, deny } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

/** A promise and the function that settles it. */
function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open: () => void = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

test("once: a hook runs the first time it matches in a session, and once more in another", async () => {
  const ran: string[] = [];
  const { host, receipts } = play({
    inProcess: [
      on("PreToolUse", ({ session_id, tool_name }) => void ran.push(`${session_id} ${tool_name}`), {
        once: true,
        matcher: "B",
      }),
    ],
  });
  echo(host, "A");
  echo(host, "B");
  for (const sessionId of ["s1", "s2", "s1"]) {
    await host.tools.invoke("A", {}, { sessionId });
    await host.tools.invoke("B", {}, { sessionId });
  }
  expect(ran).toEqual(["s1 B", "s2 B"]);
  expect(receipts).toHaveLength(2);
});

test("once: calls at the same time start it once", async () => {
  const hook = vi.fn(async () => undefined);
  const { host } = play({ inProcess: [on("PreToolUse", hook, { once: true })] });
  echo(host);
  await Promise.all(Array.from({ length: 20 }, () => host.tools.invoke("Echo", {})));
  expect(hook).toHaveBeenCalledOnce();
});

test("once: of two equal hooks one runs, once", async () => {
  const hook = vi.fn();
  const { host } = play({
    inProcess: [on("PreToolUse", hook, { once: true }), on("PreToolUse", hook, { once: true })],
  });
  echo(host);
  for (let n = 0; n < 3; n += 1) await host.tools.invoke("Echo", {});
  expect(hook).toHaveBeenCalledOnce();
});

test("once: a session that ended and begins again is a new one", async () => {
  const hook = vi.fn();
  const { host } = play({ inProcess: [on("SessionStart", hook, { once: true })] });
  await host.runSessionStart({ source: "startup" });
  await host.runSessionStart({ source: "resume" });
  expect(hook).toHaveBeenCalledTimes(1);
  await host.runSessionEnd({ reason: "other" });
  await host.runSessionStart({ source: "startup" });
  expect(hook).toHaveBeenCalledTimes(2);
});

test("async: the call does not wait, and the context comes with the next event that takes one", async () => {
  const { passed, open } = gate();
  const { host, receipts } = play({
    inProcess: [
      on(
        "PreToolUse",
        async (envelope) => {
          await passed;
          return addContext(envelope, "the index is ready");
        },
        { async: true, once: true, id: "indexer" },
      ),
    ],
  });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).not.toHaveProperty("context");
  expect(receipts).toEqual([]);
  open();
  await vi.waitFor(() => expect(receipts).toHaveLength(1));
  expect(receipts).toMatchObject([{ hook: "indexer", background: true, status: "ok", decision: "none" }]);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ context: "the index is ready" });
  expect(await host.tools.invoke("Echo", {})).not.toHaveProperty("context");
});

test("async: the next model call is told, where no event came before it", async () => {
  const { host, receipts } = play({
    inProcess: [
      on("PostToolUse", async (envelope) => addContext(envelope, "lint: 2 errors"), { async: true }),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  await vi.waitFor(() => expect(receipts).toHaveLength(1));
  const told: (readonly string[])[] = [];
  const model = host.wrapModel((_request: object, { context }) => void told.push(context));
  await model({}, { origin: noOrigin });
  await model({}, { origin: noOrigin });
  expect(told).toEqual([["lint: 2 errors"], []]);
});

test("async: what it denies is written down as ignored, and stops nothing", async () => {
  const { host, receipts } = play({
    inProcess: [on("PreToolUse", async (envelope) => deny(envelope, "too late"), { async: true })],
  });
  const ran = echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok" });
  await vi.waitFor(() => expect(receipts).toHaveLength(1));
  expect(receipts).toMatchObject([{ decision: "none", notes: ["field_ignored"], background: true }]);
  expect(ran).toHaveLength(1);
});

test("async: one that fails is written down and rejects nowhere", async () => {
  const { host, receipts } = play({
    inProcess: [on("PreToolUse", () => Promise.reject(new Error("down")), { async: true })],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  await vi.waitFor(() => expect(receipts).toHaveLength(1));
  expect(receipts).toMatchObject([{ status: "failed", error: expect.stringContaining("down") }]);
});

test("async: contexts stay in their own session", async () => {
  const { host, receipts } = play({
    inProcess: [
      on("PreToolUse", async (envelope) => addContext(envelope, "for s1"), {
        async: true,
        where: { session_id: "s1" },
      }),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", {}, { sessionId: "s1" });
  await vi.waitFor(() => expect(receipts).toHaveLength(1));
  expect(await host.tools.invoke("Echo", {}, { sessionId: "s2" })).not.toHaveProperty("context");
  expect(await host.tools.invoke("Echo", {}, { sessionId: "s1" })).toMatchObject({ context: "for s1" });
});

test("async: what waits is told with a denial too", async () => {
  const { host, receipts } = play({
    inProcess: [
      on("PreToolUse", async (envelope) => addContext(envelope, "ready"), { async: true, once: true }),
      on("PreToolUse", (envelope) =>
        (envelope.tool_input as { no?: true }).no ? deny(envelope, "no") : undefined,
      ),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  await vi.waitFor(() => expect(receipts).toHaveLength(2));
  expect(await host.tools.invoke("Echo", { no: true })).toMatchObject({
    status: "denied",
    context: "ready",
  });
  expect(await host.tools.invoke("Echo", {})).not.toHaveProperty("context");
});

test("the end of a session waits for its background, and tells what reached no model", async () => {
  const faults: HostFault[] = [];
  const { passed, open } = gate();
  const { host, receipts } = play({
    onFault: (fault) => void faults.push(fault),
    inProcess: [
      on(
        "PreToolUse",
        async (envelope) => {
          await passed;
          return addContext(envelope, "nobody hears this");
        },
        { async: true },
      ),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  const ended = host.runSessionEnd({ reason: "other" });
  open();
  await ended;
  expect(receipts).toHaveLength(1);
  expect(faults).toEqual([{ kind: "context_undelivered", detail: "1 contexts of hooks reached no model" }]);
});

test("close waits for hooks in the background of every session", async () => {
  const { passed, open } = gate();
  const { host, receipts } = play({
    inProcess: [
      on(
        "PreToolUse",
        async () => {
          await passed;
          return undefined;
        },
        { async: true },
      ),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", {}, { sessionId: "s1" });
  await host.tools.invoke("Echo", {}, { sessionId: "s2" });
  const closed = host.close();
  open();
  await closed;
  expect(receipts).toHaveLength(2);
});

test("a closed host runs nothing that it would have asked about, and closes once", async () => {
  const { host, receipts } = play({
    inProcess: [on("PreToolUse", () => undefined), on("Stop", () => undefined)],
  });
  const ran = echo(host);
  const call = vi.fn();
  const model = host.wrapModel(call);
  await Promise.all([host.close(), host.close()]);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({
    status: "failed",
    error: new Error("the host is closed"),
  });
  expect(await model({}, { origin: noOrigin })).toMatchObject({ status: "failed" });
  await expect(host.runStop()).rejects.toThrow("the host is closed");
  expect({ ran, receipts, calls: call.mock.calls }).toEqual({ ran: [], receipts: [], calls: [] });
});
