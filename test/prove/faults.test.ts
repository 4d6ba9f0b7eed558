import { afterEach, describe, expect, it } from "vitest";
import { startAnthropicServer } from "../../src/prove/anthropic-server.ts";
import type { ModelServer } from "../../src/prove/loopback-server.ts";
import { startOpenaiServer } from "../../src/prove/openai-server.ts";
import type { Fault, ModelStep } from "../../src/prove/script.ts";
import { post, readEvents } from "./http.ts";

const open: ModelServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const providers = [
  {
    name: "claude",
    start: startAnthropicServer,
    path: "/v1/messages",
    body: { stream: true, tools: [{ name: "Bash" }], messages: [{ role: "user", content: "TOKEN" }] },
    last: "message_stop",
  },
  {
    name: "codex",
    start: startOpenaiServer,
    path: "/v1/responses",
    body: {
      tools: [{ type: "function", name: "exec_command" }],
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "TOKEN" }] }],
    },
    last: "response.completed",
  },
];

describe.each(providers)("a fault of the $name model", ({ start, path, body, last }) => {
  async function serve(fault: Fault, rest: ModelStep = { text: "hello" }) {
    const server = await start({ scripts: { TOKEN: [{ ...rest, fault }] } });
    open.push(server);
    return { server, ask: (init?: RequestInit) => post(server.url + path, body, init) };
  }

  it.each([400, 401, 429, 500, 529])("status %i carries the message in an error body", async (status) => {
    const { ask } = await serve({ kind: "status", status, message: "on purpose" });
    const response = await ask();
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { message: "on purpose" } });
  });

  it("a status for two times is followed by the step itself", async () => {
    const { ask } = await serve({ kind: "status", status: 503, times: 2 });
    const statuses = [await ask(), await ask(), await ask()].map(({ status }) => status);
    expect(statuses).toEqual([503, 503, 200]);
  });

  it("a hang sends nothing", async () => {
    const { ask } = await serve({ kind: "hang" });
    await expect(ask({ signal: AbortSignal.timeout(150) })).rejects.toThrow(/timeout/i);
  });

  it("a hang after the start sends the first event and then nothing", async () => {
    const { ask } = await serve({ kind: "hang", afterStart: true });
    const stop = new AbortController();
    const reader = (await ask({ signal: stop.signal })).body?.getReader();
    const first = await reader?.read();
    expect(readEvents(new TextDecoder().decode(first?.value))).toHaveLength(1);
    const next = reader?.read();
    setTimeout(() => stop.abort(), 150);
    await expect(next).rejects.toThrow(/abort/i);
  });

  it("a cut ends the connection before the last event", async () => {
    const { ask } = await serve({ kind: "cut" });
    await expect((await ask()).text()).rejects.toThrow(/terminated/);
  });

  it("a drip sends the whole answer in small pieces", async () => {
    const { ask } = await serve({ kind: "drip", bytes: 40, intervalMs: 1 });
    const text: string[] = [];
    for await (const chunk of (await ask()).body ?? []) text.push(Buffer.from(chunk).toString());
    expect(text.length).toBeGreaterThan(5);
    expect(readEvents(text.join("")).at(-1)?.type).toBe(last);
  });

  it("close does not wait for a drip", async () => {
    const { server, ask } = await serve({ kind: "drip", bytes: 1, intervalMs: 60_000 });
    const response = await ask();
    await server.close();
    await expect(response.text()).rejects.toThrow();
  });

  it("a big text has the asked number of bytes", async () => {
    const { ask } = await serve({ kind: "big-text", bytes: 2_000_000 }, {});
    const stream = await (await ask()).text();
    expect(stream).toContain("The quick brown fox");
    expect(Math.abs(stream.length - 2_000_000)).toBeLessThan(2_000);
    expect(readEvents(stream).at(-1)?.type).toBe(last);
  });

  it("a body that is not JSON is refused, not fatal", async () => {
    const { server, ask } = await serve({ kind: "big-text", bytes: 1 });
    const broken = await fetch(server.url + path, { method: "POST", body: "{" });
    expect(broken.status).toBe(400);
    expect((await ask()).status).toBe(200);
  });
});
