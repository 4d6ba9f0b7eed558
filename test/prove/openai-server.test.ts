import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import type { ModelServer } from "../../src/prove/loopback-server.ts";
import { startOpenaiServer } from "../../src/prove/openai-server.ts";
import type { ModelScript, ToolUse } from "../../src/prove/script.ts";
import { post, readEvents } from "./http.ts";

/** The path of the task that all others descend from. */
const ROOT_TASK = "/root";

const CLASSIC = [
  { type: "function", name: "exec_command" },
  { type: "custom", name: "apply_patch" },
];
const CODE_MODE = {
  type: "additional_tools",
  tools: [
    { type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] },
    {
      type: "namespace",
      name: "collaboration",
      tools: [
        { type: "function", name: "spawn_agent" },
        { type: "function", name: "wait_agent" },
      ],
    },
  ],
};
const user = (text: string) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });

function start(script: ModelScript): Promise<ModelServer> {
  return startOpenaiServer({ scripts: { TOKEN: script } });
}

async function items(server: ModelServer, body: object): Promise<JsonObject[]> {
  const events = readEvents(await (await post(`${server.url}/v1/responses`, body)).text());
  expect(events[0]?.type).toBe("response.created");
  expect(events.at(-1)?.type).toBe("response.completed");
  return events
    .filter(({ type }) => type === "response.output_item.done")
    .map(({ item }) => item as JsonObject);
}

const classic = (server: ModelServer, ...more: object[]) =>
  items(server, { tools: CLASSIC, input: [user("do TOKEN"), ...more] });
const codeMode = (server: ModelServer, ...more: object[]) =>
  items(server, { input: [CODE_MODE, user("do TOKEN"), ...more] });

const output = (item: JsonObject | undefined, text: string) => ({
  type: "function_call_output",
  call_id: item?.call_id,
  output: text,
});

describe("a Responses answer with classic tools", () => {
  it("translates every tool kind", async () => {
    const tools: ToolUse[] = [
      { kind: "shell", command: "ls" },
      { kind: "write", path: "/f", content: "a\nb\n" },
      { kind: "edit-patch", patch: "*** Begin Patch\n*** Delete File: f\n*** End Patch" },
      { kind: "raw", name: "mcp__s.t", input: { a: 1 } },
      { kind: "raw", name: "thing", input: "free" },
    ];
    await using server = await start([{ text: "hello", tools }]);
    const [text, shell, write, patch, mcp, custom] = await classic(server);
    expect(text).toMatchObject({ role: "assistant", content: [{ type: "output_text", text: "hello" }] });
    expect(JSON.parse(String(shell?.arguments))).toMatchObject({ cmd: "ls" });
    expect(write).toMatchObject({ type: "custom_tool_call", name: "apply_patch" });
    expect(write?.input).toBe("*** Begin Patch\n*** Add File: /f\n+a\n+b\n*** End Patch");
    expect(patch?.input).toContain("Delete File");
    expect(mcp).toMatchObject({ namespace: "mcp__s", name: "t", arguments: '{"a":1}' });
    expect(custom).toMatchObject({ type: "custom_tool_call", name: "thing", input: "free" });
  });

  it("goes on after the outputs came back, and ends with the final text", async () => {
    await using server = await start([{ tools: [{ kind: "shell", command: "ls" }] }]);
    const [call] = await classic(server);
    const [last] = await classic(server, call as JsonObject, output(call, "file.txt"));
    expect(last).toMatchObject({ content: [{ text: "done" }] });
    expect(server.toolResults().get(String(call?.call_id))).toBe("file.txt");
  });
});

describe("a Responses answer in code mode", () => {
  const tools: ToolUse[] = [
    { kind: "shell", command: "ls" },
    { kind: "write", path: "/f", content: "a" },
    { kind: "raw", name: "mcp__s__t", input: { a: 1 } },
  ];

  it("is one cell that calls the nested tools at once", async () => {
    await using server = await start([{ tools }]);
    const [cell, ...others] = await codeMode(server);
    expect(others).toEqual([]);
    expect(cell).toMatchObject({ type: "custom_tool_call", name: "exec" });
    expect(cell?.input).toContain('tools["exec_command"]({"cmd":"ls"');
    expect(cell?.input).toContain('tools["apply_patch"]("*** Begin Patch');
    expect(cell?.input).toContain('tools["mcp__s__t"]({"a":1})');
  });

  it("is JavaScript that tells each result apart, a rejected one included", async () => {
    await using server = await start([{ tools }]);
    const [cell] = await codeMode(server);
    const said: string[] = [];
    const nested = {
      exec_command: async () => ({ output: "two\nlines" }),
      apply_patch: async () => Promise.reject(new Error("denied by a hook")),
      mcp__s__t: async () => "plain",
    };
    const AsyncFunction = (async () => {}).constructor as new (
      ...args: string[]
    ) => (...args: unknown[]) => unknown;
    await new AsyncFunction("tools", "text", String(cell?.input))(nested, (value: string) =>
      said.push(value),
    );
    const parts = ["Script completed\nOutput:\n", ...said].map((text) => ({ type: "input_text", text }));
    const done = { type: "custom_tool_call_output", call_id: cell?.call_id, output: parts };
    const [last] = await codeMode(server, cell as JsonObject, done);
    expect(last).toMatchObject({ content: [{ text: "done" }] });
    const results = [...server.toolResults().values()];
    expect(results.slice(1).sort()).toEqual(
      ["Error: denied by a hook", '{"output":"two\\nlines"}', "plain"].sort(),
    );
  });

  it("waits for the subagents of a step before it goes on", async () => {
    const agent: ToolUse = { kind: "agent", prompt: "help", script: [{ text: "child speaking" }] };
    await using server = await start([{ tools: [agent, agent] }, { text: "after" }]);
    const spawns = await codeMode(server);
    expect(spawns).toMatchObject([
      { namespace: "collaboration", name: "spawn_agent" },
      { namespace: "collaboration", name: "spawn_agent" },
    ]);
    const names = spawns.map((spawn) => `${ROOT_TASK}/${JSON.parse(String(spawn.arguments)).task_name}`);
    const said = [
      ...spawns,
      ...spawns.map((spawn, i) => output(spawn, JSON.stringify({ task_name: names[i] }))),
    ];
    const report = (name = "") => ({
      type: "agent_message",
      content: [{ type: "input_text", text: `Sender: ${name}\nPayload:\ndone` }],
    });
    const [first] = await codeMode(server, ...said);
    expect(first).toMatchObject({ namespace: "collaboration", name: "wait_agent" });
    const once = [...said, first as JsonObject, output(first, "Wait completed."), report(names[0])];
    const [second] = await codeMode(server, ...once);
    expect(second).toMatchObject({ name: "wait_agent" });
    expect(second?.call_id).not.toBe(first?.call_id);
    const twice = [...once, second as JsonObject, output(second, "Wait completed."), report(names[1])];
    expect(await codeMode(server, ...twice)).toMatchObject([{ content: [{ text: "after" }] }]);
  });

  it("does not wait for a subagent whose spawn was denied", async () => {
    const agent: ToolUse = { kind: "agent", prompt: "help", script: [] };
    await using server = await start([{ tools: [agent] }, { text: "after" }]);
    const [spawn] = await codeMode(server);
    const next = await codeMode(server, spawn as JsonObject, output(spawn, "blocked by PreToolUse hook"));
    expect(next).toMatchObject([{ content: [{ text: "after" }] }]);
  });

  it("finds a subagent's script in the message it was started with", async () => {
    const agent: ToolUse = { kind: "agent", prompt: "help", script: [{ text: "child speaking" }] };
    await using server = await start([{ tools: [agent] }]);
    const [spawn] = await codeMode(server);
    const { message } = JSON.parse(String(spawn?.arguments));
    const task = {
      type: "agent_message",
      content: [{ type: "encrypted_content", encrypted_content: message }],
    };
    const said = await items(server, { input: [CODE_MODE, user("environment"), task] });
    expect(said).toMatchObject([{ content: [{ text: "child speaking" }] }]);
  });
});

describe("the other calls", () => {
  it("lists no models, and has no websocket", async () => {
    await using server = await start([]);
    expect(await (await fetch(`${server.url}/v1/models?client_version=1`)).json()).toEqual({
      models: [],
      data: [],
    });
    expect((await fetch(`${server.url}/v1/responses`)).status).toBe(404);
    expect(server.modelCalls).toBe(0);
  });

  it("names offered tools with their namespace", async () => {
    await using server = await start([]);
    await codeMode(server);
    expect(server.offeredTools()).toEqual(["exec", "collaboration.spawn_agent", "collaboration.wait_agent"]);
  });
});
