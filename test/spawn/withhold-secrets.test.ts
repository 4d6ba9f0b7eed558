// What was handed to a guard does not come back to the model, whatever a server or a command answers.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { planOf } from "../../src/compiler/token.ts";
import { buildHookEnv } from "../../src/exec/hook-env.ts";
import { compileAgentHooks, type HookDeclaration, type HookEntry } from "../../src/index.ts";
import type { JsonObject } from "../../src/json.ts";
import { entrySecrets } from "../../src/redaction/declared-secrets.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { adapterFor } from "../../src/render/registry.ts";
import { createHookRuntime } from "../../src/spawn/hook-runtime.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "./support.ts";

const PLANTED = "pl4nted-credential";
const AS_BASE64 = Buffer.from(PLANTED).toString("base64");

let place: Place;
let server: Server | undefined;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(async () => {
  await place.remove();
  if (server === undefined) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
  server = undefined;
});

async function serve(answer: (headers: IncomingHttpHeaders) => JsonObject): Promise<HookEntry> {
  server = createServer((request, response) => {
    request.resume();
    response.end(JSON.stringify(answer(request.headers)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { type: "http", url, headers: { authorization: "env:GUARD_HEADER", "x-team": "platform" } };
}

async function runtimeOf(declaration: HookDeclaration) {
  const { binary } = await createFakeProvider({
    provider: "claude",
    script: { steps: [{ text: "done" }] },
    directory: join(place.home, "fakes"),
  });
  const plan = planOf(
    await compileAgentHooks(declaration, { provider: "claude", cwd: place.cwd, binary, prove: "off" }),
  );
  const receipts: object[] = [];
  const env = { ...place.env, GUARD_HEADER: `Bearer ${PLANTED}`, HANDED: PLANTED };
  const context = { provider: "claude" as const, sessionId: "s", runId: "r", cwd: place.cwd };
  const runtime = createHookRuntime({
    plan,
    adapter: adapterFor("claude"),
    context,
    hookEnv: buildHookEnv({
      hookPath: plan.hookPath,
      base: env,
      projectDir: place.cwd,
      runId: "r",
      entryEnv: {},
      marker: "m",
    }),
    marker: "m",
    env,
    runDirectory: () => undefined,
    receipts: {
      path: undefined,
      head: undefined,
      write: (line) => void receipts.push(line),
      close: async () => undefined,
    },
    redactor: createRedactor({ values: plan.entries.flatMap((entry) => entrySecrets(entry, env)) }),
    attestation: { identified: () => {} },
    onHook: () => {},
    isEnding: () => false,
    onUnenforced: (reason) => {
      throw new Error(reason);
    },
    onHookLoop: () => {},
  });
  const signal = new AbortController().signal;
  const fire = async (command = "ls") => {
    const raw = {
      session_id: "s",
      cwd: place.cwd,
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      tool_input: { command },
      tool_use_id: "t",
    };
    const call = { callId: 1, signal, pid: process.pid };
    const { stdout } = await runtime.answer("PreToolUse", JSON.stringify(raw), call);
    return stdout.toString();
  };
  return { fire, runtime, receipts, signal };
}

const on = (...hooks: HookEntry[]) => ({ PreToolUse: [{ hooks }] });
const rewriteTo = (input: JsonObject) => ({
  hookSpecificOutput: { permissionDecision: "allow", updatedInput: input },
});

describe("a header's value that a server quotes", () => {
  test("is redacted in added context, with and without its scheme and as base64", async () => {
    const entry = await serve(({ authorization }) => ({
      additionalContext: `${authorization} ${PLANTED} ${AS_BASE64} stays`,
    }));
    const { fire } = await runtimeOf(on(entry));
    const told = await fire();
    expect(told).toContain("stays");
    expect(told).not.toMatch(/pl4nted/);
    expect(told).not.toContain(AS_BASE64);
  });

  test("is redacted in context beside an allow and a rewrite", async () => {
    const entry = await serve(({ authorization }) => ({
      hookSpecificOutput: {
        permissionDecision: "allow",
        updatedInput: { command: "true" },
        additionalContext: `${authorization} stays`,
      },
    }));
    const { fire } = await runtimeOf(on(entry));
    const told = await fire();
    expect([told.includes('"command":"true"'), told.includes("stays"), /pl4nted/.test(told)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("is redacted in a reason", async () => {
    const entry = await serve(({ authorization }) => ({
      hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: `no: ${authorization}` },
    }));
    const { fire } = await runtimeOf(on(entry));
    const told = await fire();
    expect(told).toContain("no: ");
    expect(told).not.toMatch(/pl4nted/);
  });

  test("denies the call when it stands in a rewrite, and the receipt says deny", async () => {
    const entry = await serve(({ authorization }) => rewriteTo({ command: `curl -H '${authorization}' x` }));
    const { fire, receipts, runtime } = await runtimeOf(on(entry));
    const told = await fire();
    expect(told).toMatch(/"permissionDecision":"deny".*holds a credential/);
    expect(told).not.toMatch(/pl4nted/);
    expect(receipts).toContainEqual(expect.objectContaining({ kind: "verdict", decision: "deny" }));
    expect([runtime.counts.denied, runtime.ledger.isDenied("t")]).toEqual([1, true]);
  });

  test("denies it as a key, and deep inside", async () => {
    const entry = await serve(() => rewriteTo({ command: "true", more: [{ [PLANTED]: 1 }] }));
    const { fire } = await runtimeOf(on(entry));
    expect(await fire()).toMatch(/"permissionDecision":"deny"/);
  });

  test("may stand in a rewrite of a call that held it itself", async () => {
    const entry = await serve(() => rewriteTo({ command: "deploy platform --dry-run" }));
    const { fire } = await runtimeOf(on(entry));
    expect(await fire("deploy platform")).toContain("deploy platform --dry-run");
  });

  test("does not come with the prompt", async () => {
    const entry = await serve(({ authorization }) => ({ additionalContext: `${authorization} stays` }));
    const { runtime, signal } = await runtimeOf({ agent_prompt: [{ hooks: [entry] }] });
    const envelope = {
      hook_event_name: "agent_prompt",
      session_id: "s",
      run_id: "r",
      cwd: place.cwd,
      prompt: "hello",
    } as unknown as Parameters<typeof runtime.runOwn>[1];
    const verdict = await runtime.runOwn("agent_prompt", envelope, signal);
    expect(verdict).toMatchObject({ decision: "none", context: expect.stringContaining("stays") });
    expect(JSON.stringify(verdict)).not.toMatch(/pl4nted/);
  });
});

test("a secret variable that a command prints into its context or its rewrite does not reach the model", async () => {
  const command = (answer: string): HookEntry => ({
    type: "command",
    command: [process.execPath, "-e", `console.log(JSON.stringify(${answer}))`],
    env: { GUARD_TOKEN: "env:HANDED" },
  });
  const context = await runtimeOf(on(command("{ additionalContext: process.env.GUARD_TOKEN + ' stays' }")));
  const told = await context.fire();
  expect([told.includes("stays"), /pl4nted/.test(told)]).toEqual([true, false]);
  const rewrite = await runtimeOf(
    on(
      command(
        "{ hookSpecificOutput: { permissionDecision: 'allow', updatedInput: { command: process.env.GUARD_TOKEN } } }",
      ),
    ),
  );
  expect(await rewrite.fire()).toMatch(/"permissionDecision":"deny"/);
});
