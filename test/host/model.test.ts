// The model boundary: veto and rewrite before, feedback behind, and retries that end.

import { expect, test, vi } from "vitest";
import { type HostOptions, noOrigin } from "../../src/host/index.ts";
import { addContext, deny, retry, rewrite } from "../../src/profile/answer.ts";
import { echo, on, play } from "./support.ts";

const turn = { origin: noOrigin };

test("a PreModelCall hook may veto: the model is not called", async () => {
  const call = vi.fn();
  const { host } = play({ inProcess: [on("PreModelCall", (envelope) => deny(envelope, "over budget"))] });
  expect(await host.wrapModel(call)({ messages: [] }, turn)).toEqual({
    status: "denied",
    stage: "PreModelCall",
    reason: "over budget",
    attempts: 0,
  });
  expect(call).not.toHaveBeenCalled();
});

test("a PreModelCall hook sees the request and may replace it; the next hook sees the new one", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PreModelCall", (envelope) => rewrite(envelope, { messages: ["clean"] })),
      on(
        "PreModelCall",
        ({ model_request, model, attempt }) => void seen.push([model_request, model, attempt]),
      ),
    ],
  });
  const called: unknown[] = [];
  const model = host.wrapModel((request: { messages: string[] }) => void called.push(request));
  await model({ messages: ["dirty"] }, { ...turn, model: "m-1" });
  expect(seen).toEqual([[{ messages: ["clean"] }, "m-1", 1]]);
  expect(called).toEqual([{ messages: ["clean"] }]);
});

test("a rewrite of a request that holds more than JSON needs decode, and is denied without", async () => {
  const inProcess = [on("PreModelCall", (envelope) => rewrite(envelope, { text: "new" }))];
  const request = { text: "old", onToken: () => 1 };
  const call = vi.fn();
  expect(await play({ inProcess }).host.wrapModel(call)(request, turn)).toMatchObject({
    status: "denied",
    reason: expect.stringContaining("decode"),
  });
  expect(call).not.toHaveBeenCalled();
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [on("PreModelCall", ({ model_request }) => void seen.push(model_request)), ...inProcess],
  });
  const model = host.wrapModel((asked: typeof request) => asked, {
    encode: ({ text }) => ({ text }),
    decode: ({ text }, old) => ({ ...old, text: String(text) }),
  });
  expect(await model(request, turn)).toMatchObject({ response: { text: "new", onToken: request.onToken } });
  expect(seen).toEqual([{ text: "old" }]);
});

test("a PostModelCall hook sees the answer; its block is feedback, which the next call is told", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PostModelCall", (envelope) => {
        seen.push(envelope.model_response);
        return envelope.model_response === "bad" ? deny(envelope, "do not say bad") : undefined;
      }),
    ],
  });
  const told: (readonly string[])[] = [];
  const model = host.wrapModel((request: { say: string }, { context }) => {
    told.push(context);
    return request.say;
  });
  expect(await model({ say: "bad" }, turn)).toEqual({
    status: "ok",
    response: "bad",
    attempts: 1,
    feedback: "do not say bad",
  });
  expect(await model({ say: "good" }, turn)).toEqual({ status: "ok", response: "good", attempts: 1 });
  expect(seen).toEqual(["bad", "good"]);
  expect(told).toEqual([[], ["do not say bad"]]);
});

test("context is injected into the request where the program says how", async () => {
  const { host } = play({
    inProcess: [
      on("SessionStart", (envelope) => addContext(envelope, "from the start")),
      on("PreModelCall", (envelope) => addContext(envelope, "before the call")),
    ],
  });
  await host.runSessionStart({ source: "startup" });
  const called: unknown[] = [];
  const model = host.wrapModel((request: string[], { context }) => void called.push([request, context]), {
    inject: (request, context) => [...request, ...context],
  });
  await model(["ask"], turn);
  await model(["again"], turn);
  expect(called).toEqual([
    [["ask", "from the start", "before the call"], []],
    [["again", "before the call"], []],
  ]);
});

const failing = (times: number) => {
  let calls = 0;
  const call = vi.fn(() => {
    calls += 1;
    if (calls <= times) throw new Error(`failure ${calls}`);
    return "answer";
  });
  return call;
};

const retrying: HostOptions["inProcess"] = [on("ErrorOccurred", (envelope) => retry(envelope))];

test("an error is final unless a hook says retry", async () => {
  for (const inProcess of [
    [],
    [on("ErrorOccurred", () => undefined)],
    [on("ErrorOccurred", () => ({ retry: true }))],
  ]) {
    const call = failing(1);
    const { host } = play({ inProcess });
    expect(await host.wrapModel(call)({}, turn)).toMatchObject({
      status: "failed",
      attempts: 1,
      error: new Error("failure 1"),
    });
    expect(call).toHaveBeenCalledTimes(1);
  }
});

test.each([
  [0, undefined, 1, "ok"],
  [3, undefined, 4, "ok"],
  [4, undefined, 4, "failed"],
  [100, undefined, 4, "failed"],
  [1, 0, 1, "failed"],
  [100, 7, 8, "failed"],
])(
  "a model that fails %i times, with a cap of %s: %i calls, %s",
  async (times, maxRetries, calls, status) => {
    const call = failing(times);
    const { host } = play({ inProcess: retrying, ...(maxRetries === undefined ? {} : { maxRetries }) });
    expect(await host.wrapModel(call)({}, turn)).toMatchObject({ status, attempts: calls });
    expect(call).toHaveBeenCalledTimes(calls);
  },
);

test.each([Number.POSITIVE_INFINITY, -1, 1.5, 101, Number.NaN])(
  "a cap of %s is refused: retries are never without an end",
  (maxRetries) => {
    expect(() => play({ maxRetries })).toThrow("maxRetries");
    const { host } = play();
    expect(() => host.wrapModel(() => 1, { maxRetries })).toThrow("maxRetries");
  },
);

test("hooks see each attempt, and the error without its secrets", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    secrets: ["hunter2-hunter2"],
    inProcess: [
      on("PreModelCall", ({ attempt }) => void seen.push(attempt)),
      on("ErrorOccurred", ({ error, attempt }) => void seen.push([error, attempt])),
      ...(retrying ?? []),
    ],
  });
  let calls = 0;
  const model = host.wrapModel(() => {
    calls += 1;
    if (calls === 1) throw new TypeError("key hunter2-hunter2 is wrong");
    return 1;
  });
  await model({}, turn);
  expect(seen).toEqual([1, [{ name: "TypeError", message: "key [redacted] is wrong" }, 1], 2]);
});

test("a call that was abandoned is not tried again, and no hook is asked to", async () => {
  const asked = vi.fn(() => ({ hookSpecificOutput: { hookEventName: "ErrorOccurred", retry: true } }));
  const controller = new AbortController();
  const { host } = play({ inProcess: [on("ErrorOccurred", asked)] });
  const call = vi.fn(() => {
    controller.abort(new Error("enough"));
    throw new Error("aborted");
  });
  expect(await host.wrapModel(call)({}, { ...turn, signal: controller.signal })).toMatchObject({
    status: "failed",
    attempts: 1,
  });
  expect(asked).not.toHaveBeenCalled();
  expect(call).toHaveBeenCalledOnce();
});

test("context that a failed call was given is given to the next one", async () => {
  const { host } = play({ inProcess: [on("SessionStart", (envelope) => addContext(envelope, "hello"))] });
  await host.runSessionStart({ source: "startup" });
  const told: (readonly string[])[] = [];
  let calls = 0;
  const model = host.wrapModel((_request: object, { context }) => {
    told.push(context);
    calls += 1;
    if (calls === 1) throw new Error("down");
  });
  await model({}, turn);
  await model({}, turn);
  await model({}, turn);
  expect(told).toEqual([["hello"], ["hello"], []]);
});

test.each<[string, boolean]>([
  ["the next one", false],
  ["the retry", true],
])(
  "what a hook in the background said, and a failed call was given, is given to %s, whatever hooks ran before the call",
  async (_name, isRetried) => {
    const { host, receipts } = play({
      inProcess: [
        on("PreToolUse", async (envelope) => addContext(envelope, "lint: 2 errors"), { async: true }),
        on("PreModelCall", (envelope) => addContext(envelope, "be brief")),
        ...(isRetried ? (retrying ?? []) : []),
      ],
    });
    echo(host);
    await host.tools.invoke("Echo", {});
    await vi.waitFor(() => expect(receipts).toHaveLength(1));
    const told: (readonly string[])[] = [];
    const model = host.wrapModel((_request: object, { context }) => {
      told.push(context);
      if (told.length === 1) throw new Error("down");
    });
    await model({}, turn);
    await model({}, turn);
    const first = ["lint: 2 errors", "be brief"];
    expect(told.slice(0, 2)).toEqual([first, first]);
  },
);

test("what a hook in the background said waits for the next call when this one is denied", async () => {
  let isOver = true;
  const { host, receipts } = play({
    inProcess: [
      on("PreToolUse", async (envelope) => addContext(envelope, "lint: 2 errors"), { async: true }),
      on("PreModelCall", (envelope) => (isOver ? deny(envelope, "over budget") : undefined)),
    ],
  });
  echo(host);
  await host.tools.invoke("Echo", {});
  await vi.waitFor(() => expect(receipts).toHaveLength(1));
  const told: (readonly string[])[] = [];
  const model = host.wrapModel((_request: object, { context }) => void told.push(context));
  expect(await model({}, turn)).toMatchObject({ status: "denied" });
  isOver = false;
  await model({}, turn);
  expect(told).toEqual([["lint: 2 errors"]]);
});

test("wrapModel takes a function", () => {
  expect(() => play().host.wrapModel("gpt" as never)).toThrow("expected a function, got string");
});
