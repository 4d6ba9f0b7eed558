import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/json.ts";
import { tomlValue } from "../../src/render/codex/toml.ts";
import { decodeEnvelope } from "../../src/render/decode-envelope.ts";
import { adapterFor } from "../../src/render/registry.ts";

function read(provider: "claude" | "codex", ...lines: unknown[]) {
  const parser = adapterFor(provider).createStreamParser();
  const events = lines.flatMap((line) => parser.push(typeof line === "string" ? line : JSON.stringify(line)));
  return [...events, ...parser.end()];
}
const resultOf = (events: ReturnType<typeof read>) => events.find(({ type }) => type === "result");

describe("claude's stream", () => {
  const result = { type: "result", subtype: "success", is_error: false, num_turns: 1, result: "done" };

  test("a good result is ok", () => {
    expect(resultOf(read("claude", result))).toMatchObject({ status: "ok", text: "done", turns: 1 });
  });

  test("an API error that calls itself success is an error", () => {
    expect(resultOf(read("claude", { ...result, is_error: true }))).toMatchObject({ status: "error" });
    expect(resultOf(read("claude", { ...result, terminal_reason: "api_error" }))).toMatchObject({
      status: "error",
    });
  });

  test.each([
    ["is_error of another form", { is_error: "true" }, "error"],
    ["is_error as a number", { is_error: 1 }, "error"],
    ["a refusal as its stop reason", { stop_reason: "refusal" }, "error"],
    ["no message", { result: undefined }, "no_message"],
    ["a message that is no text", { result: 7 }, "no_message"],
  ])("a result with %s is no success", (_name, part, status) => {
    expect(resultOf(read("claude", { ...result, ...part }))).toMatchObject({ status });
  });

  test("a blocked prompt is prompt_blocked, although it says success", () => {
    const blocked = {
      type: "system",
      subtype: "informational",
      prompt_submit_outcome: { kind: "blocked_by_hook", reason: "no" },
    };
    expect(resultOf(read("claude", blocked, { ...result, num_turns: 0 }))).toMatchObject({
      status: "prompt_blocked",
    });
  });

  test("a hook without a verdict is told", () => {
    const line = {
      type: "system",
      subtype: "informational",
      tag: "hook_no_verdict",
      hook_no_verdict: { hook_event: "PreToolUse", tool_use_id: "t", timed_out: true },
    };
    expect(read("claude", line)).toEqual([
      {
        type: "provider_hook",
        event: "PreToolUse",
        noVerdict: true,
        toolUseId: "t",
        evidence: "hook_no_verdict, timed out",
      },
    ]);
  });

  test("of denied calls without a result the last 4,096 are remembered", () => {
    const denied = (id: string) => ({ type: "system", subtype: "permission_denied", tool_use_id: id });
    const ended = (...ids: string[]) => ({
      type: "user",
      message: { content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, is_error: true })) },
    });
    const long = "x".repeat(1_025);
    const ids = Array.from({ length: 4_097 }, (_, index) => `t${index}`);
    expect(read("claude", ...ids.map(denied), denied(long), ended("t0", "t1", "t4096", long))).toMatchObject([
      { denied: false },
      { denied: true },
      { denied: true },
      { denied: false, ran: false },
    ]);
  });

  test("the first decision about a call counts", () => {
    const line = {
      type: "user",
      message: {
        content: ["a", "b"].map((id) => ({ type: "tool_result", tool_use_id: id, is_error: true })),
      },
      tool_result_meta: [
        { id: "b", permission_decision: { decision: "reject" } },
        { id: "b", permission_decision: { decision: "accept" } },
        { id: "a", permission_decision: { decision: "accept" } },
      ],
    };
    expect(read("claude", line)).toMatchObject([
      { id: "a", denied: false, ran: true },
      { id: "b", denied: true, ran: false },
    ]);
  });

  test("a denied call's result is denied", () => {
    const denied = { type: "system", subtype: "permission_denied", tool_use_id: "t" };
    const user = {
      type: "user",
      message: { content: [{ type: "tool_result", tool_use_id: "t", is_error: true, content: "x" }] },
    };
    expect(read("claude", denied, user)).toMatchObject([
      { type: "tool_result", denied: true, isError: true },
    ]);
  });
});

describe("codex's stream", () => {
  test("a skipped line may have been the last message: none is known then, and the turn was not silent", () => {
    const parser = adapterFor("codex").createStreamParser();
    parser.push(JSON.stringify({ type: "item.completed", item: { type: "agent_message", text: "earlier" } }));
    parser.skip();
    const [, result] = parser.push(JSON.stringify({ type: "turn.completed", usage: { input_tokens: 1 } }));
    expect(result).toEqual({ type: "result", status: "ok", reason: "completed", turns: 1 });
    const silent = adapterFor("codex").createStreamParser();
    silent.skip();
    expect(resultOf([...silent.push(JSON.stringify({ type: "turn.completed" }))])).toMatchObject({
      status: "ok",
    });
  });

  test("a call that ends without having been seen to start did run, unless it was declined", () => {
    const ended = (id: string, status: string) => ({
      type: "item.completed",
      item: { id, type: "command_execution", command: "true", status },
    });
    const started = { type: "item.started", item: { id: "a", type: "command_execution", command: "true" } };
    const types = read(
      "codex",
      started,
      ended("a", "completed"),
      ended("b", "completed"),
      ended("c", "declined"),
    );
    expect(types.map((event) => `${event.type} ${"id" in event ? event.id : ""}`)).toEqual([
      "tool_call a",
      "tool_result a",
      "tool_call b",
      "tool_result b",
      "tool_result c",
    ]);
  });

  test("a turn without a message is no success: the model refused", () => {
    const events = read(
      "codex",
      { type: "turn.started" },
      { type: "turn.completed", usage: { input_tokens: 1 } },
    );
    expect(resultOf(events)).toMatchObject({ status: "no_message" });
  });

  test("a turn with a message is ok", () => {
    const events = read(
      "codex",
      { type: "thread.started", thread_id: "t" },
      { type: "item.completed", item: { type: "agent_message", text: "done" } },
      { type: "turn.completed", usage: { input_tokens: 1, output_tokens: 1 } },
    );
    expect(resultOf(events)).toMatchObject({ status: "ok", text: "done", turns: 1 });
  });

  test("a turn without a model call is a blocked prompt", () => {
    expect(
      resultOf(read("codex", { type: "turn.completed", usage: { input_tokens: 0, output_tokens: 0 } })),
    ).toMatchObject({
      status: "prompt_blocked",
    });
  });

  test("a failed turn is an error with its message", () => {
    expect(read("codex", { type: "turn.failed", error: { message: "m" } })).toMatchObject([
      { status: "error", reason: "m" },
    ]);
  });
});

describe.each(["claude", "codex"] as const)("%s", (provider) => {
  test.each(["{", "null", "[]", "3", "hello", "\ufeff{}"])("the line %j is told as unparsed", (line) => {
    expect(read(provider, line)).toEqual([{ type: "unparsed", text: line, bytes: Buffer.byteLength(line) }]);
  });

  test("of a long line that is no JSON 4 KiB are kept, in whole characters", () => {
    expect(read(provider, `a${"é".repeat(5_000)}`)).toEqual([
      { type: "unparsed", text: `a${"é".repeat(2_047)}`, bytes: 10_001 },
    ]);
  });

  const nested = (depth: number) =>
    `{"type":"system","subtype":"api_retry","error":${"[".repeat(depth)}${"]".repeat(depth)}}`;

  test("a line that nests too deep to be walked is unparsed", () => {
    expect(read(provider, nested(1_000))).toMatchObject([{ type: "unparsed", bytes: 2_048 }]);
    expect(read(provider, nested(100_000))).toMatchObject([{ type: "unparsed", bytes: 200_048 }]);
    expect(read(provider, nested(999))).not.toMatchObject([{ type: "unparsed" }]);
  });

  test("no line makes the parser throw", () => {
    const key = fc.constantFrom(
      "type",
      "subtype",
      "message",
      "content",
      "item",
      "usage",
      "error",
      "tag",
      "tool_result_meta",
      "__proto__",
    );
    const word = fc.constantFrom(
      "system",
      "init",
      "assistant",
      "user",
      "result",
      "informational",
      "tool_result",
      "item.completed",
      "item.started",
      "turn.completed",
      "turn.failed",
      "error",
      "agent_message",
      "command_execution",
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        word,
        fc.jsonValue(),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(key, tie("value"), { maxKeys: 5 }),
      ),
    }));
    const line = fc.oneof(
      fc.string({ unit: "binary" }),
      value.map((content) => JSON.stringify(content)),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 4 }), (lines) => {
        expect(Array.isArray(read(provider, ...lines))).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});

test("a JSON value as TOML reads back as it was", () => {
  const hostile = fc.string({
    unit: fc.constantFrom("\u0001", "\n", "\u001f", "\u007f", '"', "\\", "\r", "é", "🙂", "a", "#", "'", "="),
  });
  const leaf = fc.oneof(hostile, fc.boolean(), fc.integer());
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      leaf as fc.Arbitrary<Json>,
      fc.array(tie("value"), { maxLength: 3 }) as fc.Arbitrary<Json>,
      fc.dictionary(
        fc.string().filter((key) => key !== "__proto__"),
        tie("value"),
        { maxKeys: 3 },
      ) as fc.Arbitrary<Json>,
    ),
  }));
  fc.assert(
    fc.property(value, (json) => {
      expect(JSON.parse(JSON.stringify(parse(`v=${tomlValue(json)}`).v))).toEqual(json);
    }),
    { numRuns: 1_000 },
  );
});

test.each([null, Number.NaN, Number.POSITIVE_INFINITY])("TOML refuses %s", (value) => {
  expect(() => tomlValue(value)).toThrow();
});

describe("an envelope", () => {
  const context = { provider: "claude", sessionId: "ours", runId: "run", cwd: "/w", model: "m" } as const;
  const sent = {
    session_id: "theirs",
    cwd: "/c",
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: "ls" },
  };

  test("keeps what the provider sent and is stamped as ours", () => {
    expect(
      decodeEnvelope(
        "PreToolUse",
        JSON.stringify({ ...sent, extra: 1, harness: "forged", run_id: "forged" }),
        context,
      ),
    ).toEqual({
      ...sent,
      extra: 1,
      session_id: "ours",
      provider_session_id: "theirs",
      provider: "claude",
      harness: "lionagi",
      profile: "v1",
      run_id: "run",
      tool_kind: "shell",
      tool_command: "ls",
    });
  });

  test.each([
    ["[]", /not a JSON object/],
    ["{", /JSON/],
    [JSON.stringify({ ...sent, hook_event_name: "Stop" }), /expected a PreToolUse envelope/],
    [JSON.stringify({ ...sent, session_id: 3 }), /no session_id or cwd/],
    [JSON.stringify({ ...sent, tool_input: "ls" }), /no tool_input/],
  ])("%s is not taken", (raw, message) => {
    expect(() => decodeEnvelope("PreToolUse", raw, context)).toThrow(message);
  });

  test("a tool event without a tool name is not taken", () => {
    const { tool_name: _gone, ...rest } = sent;
    expect(() => decodeEnvelope("PreToolUse", JSON.stringify(rest), context)).toThrow(/tool_name/);
  });

  test("a hostile key does not reach a prototype", () => {
    const raw = JSON.stringify(sent).replace("{", '{"__proto__":{"polluted":1},');
    decodeEnvelope("PreToolUse", raw, context);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("a prompt gets the caller's model and a default mode", () => {
    const raw = JSON.stringify({
      session_id: "s",
      cwd: "/c",
      hook_event_name: "UserPromptSubmit",
      prompt: "p",
    });
    expect(decodeEnvelope("UserPromptSubmit", raw, context)).toMatchObject({
      model: "m",
      permission_mode: "default",
    });
  });
});
