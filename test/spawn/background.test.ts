// Hooks that run once or beside the run, under fakes of both CLIs.

import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { planOf } from "../../src/compiler/token.ts";
import { buildHookEnv } from "../../src/exec/hook-env.ts";
import {
  compileAgentHooks,
  type HookDeclaration,
  type HookEntry,
  type Provider,
  type RenderedHooks,
  spawnAgent,
} from "../../src/index.ts";
import type { StampedReceipt } from "../../src/receipts/receipt.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { adapterFor } from "../../src/render/registry.ts";
import { createHookRuntime } from "../../src/spawn/hook-runtime.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { isThere } from "../testkit/support.ts";
import { isAlive, makePlace, type Place } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

type Handler = Extract<HookEntry, { type: "function" }>["handler"];

const TWO_CALLS: FakeScript = {
  steps: [{ tools: [{ shell: "touch one" }] }, { tools: [{ shell: "touch two" }] }, { text: "done" }],
};
const fn = (handler: Handler, terms: object = {}): HookEntry => ({ type: "function", handler, ...terms });
const on = (...hooks: HookEntry[]) => [{ hooks }];
const context =
  (text: string): Handler =>
  () => ({ additionalContext: text });

async function compile(declaration: HookDeclaration, provider: Provider = "claude", script = TWO_CALLS) {
  const { binary } = await createFakeProvider({ provider, script, directory: join(place.home, "fakes") });
  return compileAgentHooks(declaration, { provider, cwd: place.cwd, binary, prove: "off" });
}

async function run(hooks: RenderedHooks) {
  const receipts: StampedReceipt[] = [];
  const agent = await spawnAgent({
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: (line) => void receipts.push(line),
  });
  return { result: await agent.result, receipts };
}

const warningsIn = (receipts: readonly StampedReceipt[]) =>
  receipts.filter((line) => line.kind === "warning" && line.code === "context_undelivered");

describe.each(["claude", "codex"] as const)("under %s", (provider) => {
  test("a once hook runs once in a run, and again in the next run of the same token", async () => {
    const asked: string[] = [];
    const note: Handler = ({ run_id: id }) => void asked.push(id);
    const always: string[] = [];
    const hooks = await compile(
      {
        PreToolUse: on(
          fn(note, { once: true }),
          fn(({ run_id: id }) => void always.push(id)),
        ),
      },
      provider,
    );
    const ids = [await run(hooks), await run(hooks)].map(({ result }) => result.runId);
    expect(asked).toEqual(ids);
    expect(always).toEqual(ids.flatMap((id) => [id, id]));
  });

  test("what an async hook says on a gate denies nothing, and is told in the receipts", async () => {
    const denial: Handler = () => ({ hookSpecificOutput: { permissionDecision: "deny" } });
    const hooks = await compile({ PreToolUse: on(fn(denial, { async: true })) }, provider);
    const { result, receipts } = await run(hooks);
    expect(result).toMatchObject({ outcome: "success", hooks: { denied: 0 } });
    expect([isThere(place, "one"), isThere(place, "two")]).toEqual([true, true]);
    const told = receipts.filter((line) => line.kind === "hook");
    expect(told).toHaveLength(2);
    expect(told[0]).toMatchObject({
      background: true,
      decision: "none",
      notes: [{ code: "field_ignored", detail: "deny of a hook in the background" }],
    });
  });

  test("an async process runs beside the tool calls, one a firing, and is gone by agent_exit", async () => {
    const slow = join(place.home, "slow.sh");
    await writeFile(slow, "#!/bin/sh\necho $$ >> pids\nwhile [ ! -e go ]; do sleep 0.02; done\n");
    await chmod(slow, 0o755);
    const pids = async () => (await readFile(join(place.cwd, "pids"), "utf8")).trim().split("\n").map(Number);
    const seen: { [event: string]: boolean[] } = {};
    const look: Handler = async ({ hook_event_name: event }) => {
      seen[event] = (await pids()).map(isAlive);
      await writeFile(join(place.cwd, "go"), "");
      return undefined;
    };
    const hooks = await compile(
      {
        PostToolUse: on({ type: "command", command: [slow], async: true }),
        // Both calls were made: the process of the first runs still. That of the second may not have begun.
        Stop: on(fn(look)),
        agent_exit: on(fn(look)),
      },
      provider,
    );
    const { receipts } = await run(hooks);
    expect(seen.Stop?.[0]).toBe(true);
    expect(seen.agent_exit).toEqual([false, false]);
    expect(receipts.filter((line) => line.kind === "hook" && line.background === true)).toMatchObject([
      { event: "PostToolUse", exit: "exit 0", failed: false },
      { event: "PostToolUse", exit: "exit 0", failed: false },
    ]);
  });

  test("what an async hook said reaches the next event that takes a context", async () => {
    const hooks = await compile(
      {
        UserPromptSubmit: on(fn(context("from behind"), { async: true })),
        PreToolUse: on(fn(() => undefined)),
      },
      provider,
    );
    const { result, receipts } = await run(hooks);
    expect(result.outcome).toBe("success");
    expect(warningsIn(receipts)).toEqual([]);
  });

  test("what an async hook said too late for anybody is a warning in the receipts, without its words", async () => {
    const hooks = await compile({ PostToolUse: on(fn(context("pl4nted"), { async: true })) }, provider, {
      steps: [{ tools: [{ shell: "touch one" }] }],
    });
    const { receipts } = await run(hooks);
    expect(warningsIn(receipts)).toMatchObject([{ message: expect.stringContaining("1 context(s)") }]);
    expect(JSON.stringify(receipts)).not.toContain("pl4nted");
    const kinds = receipts.map(({ kind }) => kind);
    expect(kinds.indexOf("warning")).toBeLessThan(kinds.indexOf("run_ended"));
  });

  test("async hooks of agent_exit have run when the result comes", async () => {
    let hasRun = false;
    const late: Handler = async () => {
      await readFile(new URL(import.meta.url));
      hasRun = true;
      return undefined;
    };
    const { receipts } = await run(await compile({ agent_exit: on(fn(late, { async: true })) }, provider));
    expect(hasRun).toBe(true);
    const told = receipts.filter((line) => "event" in line && line.event === "agent_exit");
    expect(told.map(({ kind }) => kind)).toEqual(["fired", "hook", "verdict"]);
    expect(told[1]).not.toHaveProperty("background");
  });

  test("async hooks of a denied agent_prompt have ended when the refusal comes", async () => {
    let hasRun = false;
    const late: Handler = async () => {
      await readFile(new URL(import.meta.url));
      hasRun = true;
      return undefined;
    };
    const veto: Handler = () => ({ decision: "block", reason: "no" });
    const hooks = await compile({ agent_prompt: on(fn(late, { async: true }), fn(veto)) }, provider);
    await expect(run(hooks)).rejects.toMatchObject({ issues: [{ code: "prompt_denied" }] });
    expect(hasRun).toBe(true);
  });
});

describe("the answer that a provider is given", () => {
  const runtimeOf = async (declaration: HookDeclaration) => {
    const plan = planOf(await compile(declaration));
    const receipts: object[] = [];
    const { cwd, env } = place;
    const runtime = createHookRuntime({
      plan,
      adapter: adapterFor("claude"),
      context: { provider: "claude", sessionId: "s", runId: "r", cwd },
      hookEnv: buildHookEnv({
        hookPath: plan.hookPath,
        base: env,
        projectDir: cwd,
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
      redactor: createRedactor(),
      attestation: { identified: () => {} },
      onHook: () => {},
      isEnding: () => false,
      onUnenforced: (reason) => {
        throw new Error(reason);
      },
      onHookLoop: () => {},
    });
    let callId = 0;
    const fire = async (event: "PreToolUse" | "PostToolUse" | "Stop") => {
      callId += 1;
      const raw = {
        session_id: "s",
        cwd,
        hook_event_name: event,
        tool_name: "Bash",
        tool_input: { command: "ls" },
        tool_response: {},
        tool_use_id: `t${callId}`,
      };
      const signal = new AbortController().signal;
      const { stdout } = await runtime.answer(event, JSON.stringify(raw), {
        callId,
        signal,
      });
      return stdout.toString();
    };
    return { fire, runtime, receipts };
  };

  test("holds what a hook in the background said before, once, on the first event that takes it", async () => {
    let release = () => {};
    const said = new Promise<object>((resolve) => {
      release = () => resolve({ additionalContext: "from behind" });
    });
    const { fire, runtime, receipts } = await runtimeOf({
      PreToolUse: on(fn(() => said as Promise<{ additionalContext: string }>, { async: true, once: true })),
      PostToolUse: on(fn(context("of its own"))),
      Stop: on(fn(() => undefined)),
    });
    expect(await fire("PreToolUse")).not.toContain("from behind");
    release();
    await said;
    await fire("Stop");
    const first = await fire("PostToolUse");
    expect(first).toContain("from behind");
    expect(first.indexOf("from behind")).toBeLessThan(first.indexOf("of its own"));
    expect(await fire("PostToolUse")).not.toContain("from behind");
    await runtime.settle();
    expect(receipts.filter((line) => "kind" in line && line.kind === "warning")).toEqual([]);
  });
});
