import { readFileSync } from "node:fs";
import { join } from "node:path";
import { context, trace as otel, SpanStatusCode } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTelemetry, type RunTracer } from "../../src/trace/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";

let place: Place;
let exporter: InMemorySpanExporter;
let provider: BasicTracerProvider;
let tracer: RunTracer;
beforeEach(async () => {
  place = await makePlace();
  exporter = new InMemorySpanExporter();
  provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  tracer = await openTelemetry({ tracer: provider.getTracer("test") });
});
afterEach(async () => {
  context.disable();
  otel.disable();
  await place.remove();
});

const SCRIPT = {
  steps: [
    { tools: [{ shell: 'echo "$TRACEPARENT" > seen' }, { shell: "echo private" }] },
    { text: "private words" },
  ],
};
const play = (
  given: Partial<fakes.Play> & { script?: fakes.Play["script"] } = {},
  options: fakes.Play["options"] = {},
) =>
  fakes.play(place, {
    provider: "claude",
    script: SCRIPT,
    ...given,
    options: { trace: tracer, ...options },
  });

const spans = () => exporter.getFinishedSpans();
const named = (name: string) => spans().filter((span) => span.name === name);
const only = (name: string): ReadableSpan => {
  const found = named(name);
  expect(found, name).toHaveLength(1);
  return found[0] as ReadableSpan;
};
const parentOf = (span: ReadableSpan) =>
  spans().find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId)?.name;
const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("spans", () => {
  test("claude: run, turn, tool calls and hooks, each below the other, with conventional attributes", async () => {
    const { result } = await play({}, { model: "a-model" });
    expect(result.outcome).toBe("success");
    const run = only("invoke_agent claude");
    expect(run.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.agent.name": "claude",
      "gen_ai.conversation.id": result.sessionId,
      "gen_ai.request.model": "a-model",
      "bridle.run.id": result.runId,
      "bridle.outcome": "success",
      "bridle.exit_code": 0,
    });
    expect(run.status.code).toBe(SpanStatusCode.OK);
    expect(run.parentSpanContext).toBeUndefined();
    expect(parentOf(only("turn 1"))).toBe("invoke_agent claude");
    const tools = named("execute_tool Bash");
    expect(tools.map(parentOf)).toEqual(["turn 1", "turn 1"]);
    expect(tools[0]?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "Bash",
      "gen_ai.tool.call.id": expect.stringMatching(/./),
      "bridle.tool.denied": false,
    });
    const hooks = named("hook PreToolUse");
    expect(hooks.map(parentOf)).toEqual(["execute_tool Bash", "execute_tool Bash"]);
    expect(hooks[0]?.attributes).toMatchObject({
      "bridle.hook.id": "PreToolUse[0].hooks[0]",
      "bridle.hook.decision": "none",
    });
    expect(parentOf(only("hook agent_exit"))).toBe("invoke_agent claude");
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(
      JSON.stringify(spans().map(({ name, attributes, events }) => [name, attributes, events])),
    ).not.toContain("private");
  });

  test("codex: the same, with hooks below the turn, and its own names of tools", async () => {
    await play({ provider: "codex" });
    expect(named("execute_tool command_execution").map(parentOf)).toEqual(["turn 1", "turn 1"]);
    expect(named("hook PreToolUse").map(parentOf)).toEqual(["turn 1", "turn 1"]);
    expect(only("invoke_agent codex").attributes["gen_ai.provider.name"]).toBe("openai");
  });

  test("a denial is no error, a guard that fails is one, and neither's words are told", async () => {
    await play({ handlers: { PreToolUse: fakes.deny } });
    const denied = named("hook PreToolUse");
    expect(denied.map(({ status, attributes }) => [status.code, attributes["bridle.hook.decision"]])).toEqual(
      [
        [SpanStatusCode.UNSET, "deny"],
        [SpanStatusCode.UNSET, "deny"],
      ],
    );
    const [call] = named("execute_tool Bash");
    expect(call?.attributes["bridle.tool.denied"]).toBe(true);
    expect([call?.status.code, call?.attributes["error.type"]]).toEqual([SpanStatusCode.UNSET, undefined]);
    exporter.reset();
    const handler = () => {
      throw new Error("private failure");
    };
    await play({ handlers: { PreToolUse: handler } });
    expect(named("hook PreToolUse")[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "hook_failed" },
    });
    const told = JSON.stringify(
      spans().map(({ name, attributes, status, events }) => [name, attributes, status, events]),
    );
    expect(told).not.toMatch(/private|not today/);
  });

  test("of a run that is stopped end with it, with its outcome", async () => {
    const { result } = await play({
      script: { steps: [{ text: "up" }, { sins: ["hang"] }] },
      onMessage: (run) => void run.stop(),
    });
    const run = only("invoke_agent claude");
    expect([run.attributes["bridle.outcome"], run.attributes["error.type"]]).toEqual([
      result.outcome,
      result.outcome,
    ]);
    expect(result.outcome).toBe("interrupted");
    expect(run.status.code).toBe(SpanStatusCode.ERROR);
    expect(only("turn 1").ended).toBe(true);
  });

  test("of a run that agent_prompt denied is one, and an error", async () => {
    await fakes.refusalOf(place, {
      provider: "claude",
      script: SCRIPT,
      handlers: { agent_prompt: fakes.block },
      options: { trace: tracer },
    });
    expect(only("invoke_agent claude")).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "not_started" },
    });
    expect(parentOf(only("hook agent_prompt"))).toBe("invoke_agent claude");
  });
});

describe("the place in a trace", () => {
  const seen = () => readFileSync(join(place.cwd, "seen"), "utf8").trim();

  test("comes in from the environment, and goes out to agent and hooks", async () => {
    const env = { ...place.env, TRACEPARENT: PARENT, TRACESTATE: "vendor=1" };
    const { seen: told } = await play({}, { baseEnv: env });
    const run = only("invoke_agent claude");
    const { traceId, spanId } = run.spanContext();
    expect([traceId, run.parentSpanContext?.spanId]).toEqual([
      "0af7651916cd43dd8448eb211c80319c",
      "b7ad6b7169203331",
    ]);
    expect(seen()).toBe(`00-${traceId}-${spanId}-01`);
    const rendered = told.receipts.find(({ kind }) => kind === "rendered") as { env_names?: string[] };
    expect(rendered.env_names).toEqual(expect.arrayContaining(["TRACEPARENT", "TRACESTATE"]));
  });

  test("a span that is active in the program goes before the environment", async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const outer = provider.getTracer("test").startSpan("outer");
    await context.with(otel.setSpan(context.active(), outer), () =>
      play({}, { baseEnv: { ...place.env, TRACEPARENT: PARENT } }),
    );
    outer.end();
    expect(parentOf(only("invoke_agent claude"))).toBe("outer");
  });

  test("without an SDK nothing is recorded, and a parent's place is passed on as it is", async () => {
    const noSdk = await openTelemetry();
    await play({}, { trace: noSdk, baseEnv: { ...place.env, TRACEPARENT: PARENT } });
    expect(seen()).toBe(PARENT);
    await play({}, { trace: noSdk });
    expect(seen()).toBe("");
    expect(spans()).toEqual([]);
  });

  test("without trace it is not passed on at all", async () => {
    await fakes.play(place, {
      provider: "claude",
      script: SCRIPT,
      options: { baseEnv: { ...place.env, TRACEPARENT: PARENT } },
    });
    expect(seen()).toBe("");
  });

  test.each(["", "junk", "00-0-0-01", `ff${PARENT.slice(2)}`, PARENT.replace(/b7.*-/, `${"0".repeat(16)}-`)])(
    "%j is no place",
    async (given) => {
      await play({}, { baseEnv: { ...place.env, TRACEPARENT: given } });
      expect(only("invoke_agent claude").parentSpanContext).toBeUndefined();
    },
  );

  test("a command hook gets it", async () => {
    const { compileAgentHooks, spawnAgent } = await import("../../src/index.ts");
    const { createFakeProvider } = await import("../../src/testkit/index.ts");
    const fake = await createFakeProvider({ provider: "codex", script: SCRIPT, directory: place.home });
    const command = ["/bin/sh", "-c", `echo "$TRACEPARENT" > ${join(place.cwd, "hook")}`];
    const hooks = await compileAgentHooks(
      { PreToolUse: [{ hooks: [{ type: "command", command }] }] },
      { provider: "codex", cwd: place.cwd, binary: fake.binary, prove: "off" },
    );
    const run = await spawnAgent({
      hooks,
      prompt: "hello",
      cwd: place.cwd,
      baseEnv: place.env,
      trace: tracer,
    });
    await run.result;
    const { traceId, spanId } = only("invoke_agent codex").spanContext();
    expect(readFileSync(join(place.cwd, "hook"), "utf8").trim()).toBe(`00-${traceId}-${spanId}-01`);
  });
});

test.each(["begin", "note"] as const)(
  "a tracer that throws in %s is told once, and the run goes on",
  async (where) => {
    const broken: RunTracer = {
      begin() {
        if (where === "begin") throw new Error("broken tracer");
        return {
          env: {},
          note() {
            throw new Error("broken tracer");
          },
          end() {},
        };
      },
    };
    const { result } = await play({}, { trace: broken });
    expect(result.outcome).toBe("success");
    expect(result.warnings.filter(({ code }) => code === "trace_failed")).toEqual([
      { code: "trace_failed", message: "Error: broken tracer" },
    ]);
  },
);

test("what is no tracer is refused", async () => {
  const { issues } = await fakes.refusalOf(place, {
    provider: "claude",
    script: SCRIPT,
    options: { trace: true } as never,
  });
  expect(issues).toMatchObject([{ code: "option_invalid", path: "trace" }]);
});
