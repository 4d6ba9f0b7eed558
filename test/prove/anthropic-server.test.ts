import { describe, expect, it } from "vitest";
import { startAnthropicServer } from "../../src/prove/anthropic-server.ts";
import type { ModelServer } from "../../src/prove/loopback-server.ts";
import type { ModelScript, ToolUse } from "../../src/prove/script.ts";
import { post, readEvents } from "./http.ts";

const TOOLS = [{ name: "Bash" }, { name: "Write" }, { name: "Agent" }];

function start(script: ModelScript): Promise<ModelServer> {
  return startAnthropicServer({ scripts: { TOKEN: script } });
}

function ask(server: ModelServer, more: unknown[] = [], rest: object = {}): Promise<Response> {
  const messages = [{ role: "user", content: [{ type: "text", text: "do TOKEN" }] }, ...more];
  return post(`${server.url}/v1/messages?beta=true`, {
    model: "m",
    stream: true,
    tools: TOOLS,
    messages,
    ...rest,
  });
}

async function answerOf(response: Response) {
  const events = readEvents(await response.text());
  const starts = events.filter(({ type }) => type === "content_block_start");
  return {
    types: events.map(({ type }) => type),
    blocks: starts.map(({ content_block }) => content_block as Record<string, unknown>),
    deltas: events
      .filter(({ type }) => type === "content_block_delta")
      .map(({ delta }) => delta as Record<string, unknown>),
    stop: (events.find(({ type }) => type === "message_delta")?.delta as { stop_reason?: string })
      ?.stop_reason,
  };
}

const shell: ToolUse = { kind: "shell", command: "ls" };

describe("a Messages answer", () => {
  it("streams text and tool calls in the order of the protocol", async () => {
    await using server = await start([{ text: "hello", tools: [shell] }]);
    const { types, blocks, deltas, stop } = await answerOf(await ask(server));
    const block = ["content_block_start", "content_block_delta", "content_block_stop"];
    expect(types).toEqual(["message_start", ...block, ...block, "message_delta", "message_stop"]);
    expect(blocks[1]).toMatchObject({ type: "tool_use", name: "Bash", input: {} });
    expect(deltas[0]).toEqual({ type: "text_delta", text: "hello" });
    expect(JSON.parse(String(deltas[1]?.partial_json))).toMatchObject({ command: "ls" });
    expect(stop).toBe("tool_use");
  });

  it("is one JSON message when no stream is asked for", async () => {
    await using server = await start([{ text: "hello" }]);
    const response = await ask(server, [], { stream: false });
    expect(await response.json()).toMatchObject({
      content: [{ type: "text", text: "hello" }],
      stop_reason: "end_turn",
    });
  });

  it("translates every tool kind", async () => {
    const tools: ToolUse[] = [
      { kind: "write", path: "/f", content: "x" },
      { kind: "agent", prompt: "help", script: [] },
      { kind: "raw", name: "mcp__s__t", input: { a: 1 } },
    ];
    await using server = await start([{ tools }]);
    const { blocks, deltas } = await answerOf(await ask(server));
    expect(blocks.map(({ name }) => name)).toEqual(["Write", "Agent", "mcp__s__t"]);
    const inputs = deltas.map((delta) => JSON.parse(String(delta.partial_json)));
    expect(inputs[0]).toEqual({ file_path: "/f", content: "x" });
    expect(inputs[1].prompt).toMatch(/^help\n\n\[\[model-script:agent-/);
    expect(inputs[2]).toEqual({ a: 1 });
  });

  it("says that a patch step is for codex only", async () => {
    await using server = await start([{ tools: [{ kind: "edit-patch", patch: "*** Begin Patch" }] }]);
    const response = await ask(server);
    expect(response.status).toBe(500);
    expect(await response.text()).toContain("edit-patch");
  });

  it("is the final text after the last step, and without a script", async () => {
    await using server = await start([{ text: "first" }]);
    const after = await answerOf(await ask(server, [{ role: "assistant", content: "first" }]));
    expect(after.deltas).toEqual([{ type: "text_delta", text: "done" }]);
    const none = await post(`${server.url}/v1/messages`, {
      tools: TOOLS,
      messages: [{ role: "user", content: "hi" }],
    });
    expect(await none.json()).toMatchObject({ content: [{ text: "done" }] });
  });

  it("holds no tool call when the request offers no tools", async () => {
    await using server = await start([{ tools: [shell] }]);
    const { stop } = await answerOf(await ask(server, [], { tools: undefined }));
    expect(stop).toBe("end_turn");
  });

  it("answers a subagent from the subagent's script", async () => {
    const agent: ToolUse = { kind: "agent", prompt: "help", script: [{ text: "child speaking" }] };
    await using server = await start([{ tools: [agent] }]);
    const { deltas } = await answerOf(await ask(server));
    const { prompt } = JSON.parse(String(deltas[0]?.partial_json));
    const messages = [{ role: "user", content: prompt }];
    const child = await post(`${server.url}/v1/messages`, { tools: TOOLS, messages });
    expect(await child.json()).toMatchObject({ content: [{ text: "child speaking" }] });
  });
});

describe("the other calls", () => {
  it("counts tokens, and refuses what it does not know in the provider's own error shape", async () => {
    await using server = await start([]);
    const count = await post(`${server.url}/v1/messages/count_tokens`, {});
    expect(await count.json()).toEqual({ input_tokens: 10 });
    const unknown = await fetch(`${server.url}/api/hello`);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ type: "error", error: { type: "not_found_error" } });
    expect(server.modelCalls).toBe(0);
  });
});

describe("the record", () => {
  it("holds requests, tool results, texts and offered tools", async () => {
    await using server = await start([{ tools: [{ ...shell, id: "toolu_x" }] }]);
    await (await ask(server)).text();
    const said = [
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_x", name: "Bash", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_x", content: [{ type: "text", text: "denied: no" }] },
          { type: "text", text: "context of a hook" },
        ],
      },
    ];
    await (await ask(server, said)).text();
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/v1/messages?beta=true",
      "/v1/messages?beta=true",
    ]);
    expect(server.modelCalls).toBe(2);
    expect(server.toolResults().get("toolu_x")).toBe("denied: no");
    expect(server.userTexts()).toEqual(["do TOKEN", "context of a hook"]);
    expect(server.offeredTools()).toEqual(["Bash", "Write", "Agent"]);
  });

  it("keeps as many bodies as asked for", async () => {
    await using server = await startAnthropicServer({ scripts: {}, keepRequests: 1 });
    await post(`${server.url}/v1/messages`, { messages: [] });
    await post(`${server.url}/v1/messages`, { messages: [] });
    expect(server.requests.map(({ body }) => body === undefined)).toEqual([true, false]);
  });

  it("tells a waiting test that a request came", async () => {
    await using server = await start([{ fault: { kind: "hang" } }]);
    const hung = ask(server).catch(() => undefined);
    await server.waitFor(({ modelCalls }) => modelCalls === 1);
    await expect(server.waitFor(({ modelCalls }) => modelCalls === 2, { timeoutMs: 20 })).rejects.toThrow(
      /1 model/,
    );
    await server.close();
    await hung;
  });
});

describe("where it listens", () => {
  it("is no other address of this machine", async () => {
    await using server = await start([]);
    // A server on every interface would also answer on the rest of 127/8.
    await expect(fetch(`http://127.0.0.2:${server.port}/`)).rejects.toThrow();
  });

  it("is on 127.0.0.1, and gone after close", async () => {
    const server = await start([]);
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    await server.close();
    await server.close();
    await expect(fetch(server.url)).rejects.toThrow();
  });
});
