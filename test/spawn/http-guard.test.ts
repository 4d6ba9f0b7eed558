// A guard behind an address, asked by runs of fakes of both CLIs.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  AgentHooksRefused,
  compileAgentHooks,
  explain,
  type HookDeclaration,
  type HttpEntry,
  type Provider,
  recoverRuns,
  spawnAgent,
} from "../../src/index.ts";
import { type JsonObject, parseJsonObject } from "../../src/json.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { isThere } from "../testkit/support.ts";
import { makePlace, type Place } from "./support.ts";

let place: Place;
const servers: Server[] = [];
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  await place.remove();
  for (const server of servers.splice(0)) {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
});

interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly envelope: JsonObject;
}

async function serve(
  answer: (asked: Asked) => JsonObject | string | number,
): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const listener: RequestListener = async (request, response) => {
    const envelope = parseJsonObject(await text(request)) ?? {};
    asked.push({ headers: request.headers, envelope });
    const said = answer({ headers: request.headers, envelope });
    if (typeof said === "number")
      response.writeHead(said).end(JSON.stringify([request.url, request.headers]));
    else response.end(typeof said === "string" ? said : JSON.stringify(said));
  };
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/guard`, asked };
}

const denyBash = ({ envelope }: Asked): JsonObject =>
  envelope.tool_command === "touch ran"
    ? { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "not over http" } }
    : {};

async function compile(declaration: HookDeclaration, provider: Provider = "claude") {
  const { binary } = await createFakeProvider({
    provider,
    script: { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "done" }] },
    directory: join(place.home, "fakes"),
  });
  return compileAgentHooks(declaration, { provider, cwd: place.cwd, binary, prove: "off" });
}

async function run(
  declaration: HookDeclaration,
  { provider, env = {} }: { provider?: Provider; env?: NodeJS.ProcessEnv } = {},
) {
  const hooks = await compile(declaration, provider);
  const receipts: object[] = [];
  const agent = await spawnAgent({
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: { ...place.env, ...env },
    receiptSink: (line) => void receipts.push(line),
  });
  const events: object[] = [];
  for await (const event of agent) events.push(event);
  return { hooks, result: await agent.result, receipts, events };
}

const gate = (url: string, terms: Partial<HttpEntry> = {}): HookDeclaration => ({
  PreToolUse: [{ matcher: "kind:shell", hooks: [{ type: "http", url, ...terms }] }],
});

describe.each(["claude", "codex"] as const)("under %s a guard behind an address", (provider) => {
  test("denies a tool call, and is shown the whole envelope", async () => {
    const { url, asked } = await serve(denyBash);
    const { result, receipts } = await run(gate(url), { provider });
    expect(isThere(place, "ran")).toBe(false);
    expect(result).toMatchObject({ outcome: "success", hooks: { denied: 1, failed: 0 } });
    expect(asked).toMatchObject([
      { envelope: { provider, run_id: result.runId, tool_command: "touch ran", profile: "v1" } },
    ]);
    expect(receipts).toContainEqual(
      expect.objectContaining({ kind: "hook", decision: "deny", failed: false, exit: "exit 0" }),
    );
  });

  test("lets it pass", async () => {
    const { url, asked } = await serve(() => "");
    await run(gate(url), { provider });
    expect([isThere(place, "ran"), asked.length]).toEqual([true, 1]);
  });

  test("that fails denies, and with on_failure: open admits", async () => {
    const { url } = await serve(() => 500);
    await run(gate(url), { provider });
    expect(isThere(place, "ran")).toBe(false);
    await run(gate(url, { on_failure: "open" }), { provider });
    expect(isThere(place, "ran")).toBe(true);
  });

  test("that says more than is read denies", async () => {
    const { url } = await serve(() => "x".repeat(1024 * 1024 + 1));
    const { result } = await run(gate(url), { provider });
    expect([isThere(place, "ran"), result.hooks]).toMatchObject([false, { denied: 1, failed: 1 }]);
  });

  test("is asked only where its group's where holds", async () => {
    const { url, asked } = await serve(denyBash);
    const hooks = [{ type: "http" as const, url }];
    const where = { tool_input: { command: { $contains: "rm " } } };
    await run({ PreToolUse: [{ where, hooks }] }, { provider });
    expect([isThere(place, "ran"), asked.length]).toEqual([true, 0]);
    await run({ PreToolUse: [{ where: { tool_kind: "shell" }, hooks }] }, { provider });
    expect(asked).toHaveLength(1);
  });
});

test("two equal http entries are asked once", async () => {
  const { url, asked } = await serve(() => ({}));
  const entry: HttpEntry = { type: "http", url };
  await run({
    PreToolUse: [{ hooks: [entry, { ...entry }] }, { hooks: [{ ...entry, headers: { a: "b" } }] }],
  });
  expect(asked).toHaveLength(2);
});

describe("what a header holds", () => {
  const LITERAL = "literal-pl4nted-value";
  const READ = "Key read-pl4nted-value";
  const headers = { "x-key": LITERAL, authorization: "env:GUARD_HEADER" };

  test("is sent, read from the environment, and stands nowhere else, though the server quotes it", async () => {
    const { url, asked } = await serve(() => 500);
    const env = { GUARD_HEADER: READ };
    const address = `${url}?token=pl4nted-query-value`;
    const declaration = {
      ...gate(address, { headers }),
      agent_exit: [{ hooks: [{ type: "http" as const, url: address, headers }] }],
    };
    const { hooks, result, receipts, events } = await run(declaration, { env });
    expect(asked).toHaveLength(2);
    expect(asked[0]?.headers).toMatchObject({ "x-key": LITERAL, authorization: READ });
    expect(JSON.stringify(receipts)).toContain("HTTP 500");
    const explained = explain(hooks, { cwd: place.cwd });
    for (const shown of [result, receipts, events, hooks.describe(), explained])
      expect(JSON.stringify(shown)).not.toContain("pl4nted");
    expect(hooks.describe().hooks[0]).toMatchObject({
      type: "http",
      program: `POST ${url}?token=…`,
      headers: ["x-key", "authorization"],
      env: [],
    });
  });

  test("is in a denial's reason as little, which goes to the model", async () => {
    const { url } = await serve(({ headers: sent }) => ({
      hookSpecificOutput: {
        permissionDecision: "deny",
        permissionDecisionReason: `no: ${sent.authorization} ${sent["x-key"]}`,
      },
    }));
    const { events } = await run(gate(url, { headers }), { env: { GUARD_HEADER: READ } });
    expect(isThere(place, "ran")).toBe(false);
    expect(JSON.stringify(events)).toContain("no: ");
    expect(JSON.stringify(events)).not.toContain("pl4nted");
  });

  test("that is not set refuses the run, by its name", async () => {
    const { url, asked } = await serve(() => ({}));
    const error = await run(gate(url, { headers })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AgentHooksRefused);
    expect((error as AgentHooksRefused).issues).toMatchObject([
      {
        code: "placeholder_unset",
        path: "PreToolUse[0].hooks[0].headers",
        message: expect.stringContaining("GUARD_HEADER"),
      },
    ]);
    expect(asked).toEqual([]);
    expect(await recoverRuns({ env: place.env })).toEqual([]);
  });

  test("is read when the request is made", async () => {
    const { url, asked } = await serve(() => ({}));
    const env: NodeJS.ProcessEnv = { ...place.env, GUARD_HEADER: "first-value" };
    const turn = () => {
      env.GUARD_HEADER = "second-value";
      return undefined;
    };
    const hooks = await compile({
      ...gate(url, { headers }),
      UserPromptSubmit: [{ hooks: [{ type: "function", handler: turn }] }],
    });
    const agent = await spawnAgent({
      hooks,
      prompt: "hello",
      cwd: place.cwd,
      baseEnv: env,
      receiptSink: () => {},
    });
    await agent.result;
    expect(asked[0]?.headers.authorization).toBe("second-value");
  });
});
