import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type AgentEvent, AgentHooksRefused, RenderedHooks, spawnAgent } from "../../src/index.ts";
import { compileFake, isAlive, leftovers, makePlace, type Place, startFake } from "./support.ts";

// The probe takes native binaries only; the fakes are scripts.
vi.mock("../../src/render/probe.ts", () => ({ probeVersion: async () => ({ version: "2.1.332" }) }));

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

async function run(fake: string, options: Parameters<typeof startFake>[2] = {}) {
  const { starting, seen } = await startFake(fake, place, options);
  const agent = await starting;
  const events: AgentEvent[] = [];
  for await (const event of agent) events.push(event);
  return { result: await agent.result, events, seen };
}

async function refusal(starting: Promise<unknown>): Promise<AgentHooksRefused> {
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AgentHooksRefused);
  return error as AgentHooksRefused;
}

describe("a run", () => {
  test("with a final message, a clean exit and attested hooks is a success", async () => {
    const { result, seen } = await run("claude-succeeds");
    expect(result).toMatchObject({
      outcome: "success",
      finalText: "hello",
      turns: 1,
      usage: { inputTokens: 1, outputTokens: 2 },
      costUsd: 0.5,
      exitCode: 0,
    });
    expect(seen.exits).toEqual(["success"]);
  });

  test("has events in order with a gap-free number, the result last", async () => {
    const { events } = await run("claude-succeeds");
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)?.type).toBe("result");
  });

  test("leaves no run directory behind", async () => {
    await run("claude-succeeds");
    expect(await leftovers(place)).toEqual([]);
  });

  test("nobody listens to ends all the same", async () => {
    const { starting } = await startFake("claude-succeeds", place);
    expect((await (await starting).result).outcome).toBe("success");
  });

  test("gets a prompt of 10 MB", async () => {
    const { events } = await run("claude-succeeds", { prompt: "p".repeat(10_000_000) });
    expect(events).toContainEqual(expect.objectContaining({ type: "message", text: "got 10000000" }));
  });

  test("has its tool call denied by a handler", async () => {
    const { result, events } = await run("claude-fires-a-tool-hook", {
      handlers: {
        PreToolUse: () => ({
          hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "not today" },
        }),
      },
    });
    expect(JSON.parse(result.finalText ?? "")).toEqual({
      code: 2,
      stdout: expect.stringContaining("not today"),
    });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "hook", decision: "deny", reason: "not today" }),
    );
  });

  test("has its tool call admitted by a handler", async () => {
    const { result } = await run("claude-fires-a-tool-hook");
    expect(JSON.parse(result.finalText ?? "")).toEqual({ code: 0, stdout: "" });
  });

  test("writes no value of prompt or input into its receipts", async () => {
    const { seen } = await run("claude-fires-a-tool-hook", { prompt: "very private words" });
    expect(JSON.stringify(seen.receipts)).not.toContain("very private words");
  });

  test("denied by agent_prompt starts nothing and fires no agent_exit", async () => {
    const { starting, seen } = await startFake("claude-succeeds", place, {
      handlers: { agent_prompt: () => ({ decision: "block", reason: "no" }) },
    });
    expect((await refusal(starting)).issues).toMatchObject([{ code: "prompt_denied", message: "no" }]);
    expect(seen).toEqual({ receipts: [], exits: [] });
  });

  test("gets the context of agent_prompt behind its prompt", async () => {
    const { result } = await run("claude-succeeds", {
      handlers: { agent_prompt: () => ({ hookSpecificOutput: { additionalContext: "ctx" } }) },
    });
    expect(result.finalText).toBe("hello\n\nctx");
  });
});

describe("field reports", () => {
  test("14: exit 0 without a final message is incomplete", async () => {
    const { result } = await run("claude-exits-0-without-result");
    expect(result.outcome).toBe("incomplete");
  });

  test("13: a CLI that never exits after its result is stopped, and the run is a success that lingered", async () => {
    const { result } = await run("claude-never-exits-after-result", {
      deadlines: { lingerMs: 100, stopMs: 200 },
    });
    expect(result).toMatchObject({ outcome: "success", reason: "lingered" });
  });

  test("1, 11: a child in its own session is gone before agent_exit, although the CLI ignores TERM", async () => {
    const { starting, seen } = await startFake("claude-ignores-term-with-setsid-child", place, {
      deadlines: { stopMs: 200 },
    });
    const agent = await starting;
    let child = 0;
    for await (const event of agent) {
      if (event.type !== "message") continue;
      child = Number(event.text);
      void agent.stop("enough");
    }
    const { outcome, reason, signal, extinction } = await agent.result;
    expect({ outcome, reason, signal }).toEqual({
      outcome: "interrupted",
      reason: "enough",
      signal: "SIGKILL",
    });
    expect(extinction).toMatchObject({ state: "swept", survivors: [] });
    expect(isAlive(child)).toBe(false);
    expect(seen.exits).toEqual(["interrupted"]);
  });

  test("7, 17: a child that holds the output open does not hold the run, and is told as pipe_held", async () => {
    const { result, events } = await run("claude-leaves-child-holding-stdout", {
      deadlines: { drainMs: 100 },
    });
    expect(result.outcome).toBe("success");
    expect(events).toContainEqual(expect.objectContaining({ type: "warning", code: "pipe_held" }));
    expect(isAlive(Number(result.finalText))).toBe(false);
  });

  test("18: a last line that was cut is never a success", async () => {
    const { result } = await run("claude-cuts-its-last-line");
    expect(result).toMatchObject({ outcome: "incomplete", reason: "output_truncated" });
  });

  test("20: a line of 2 MB is read and reading goes on", async () => {
    const { result, events } = await run("claude-prints-a-2-mb-line");
    expect(events.find(({ type }) => type === "message")).toMatchObject({ text: "x".repeat(2_000_000) });
    expect(result.outcome).toBe("success");
  });

  test("22: a CLI that is gone before it reads a prompt of 1 MiB is failed, with its stderr", async () => {
    const { result } = await run("claude-exits-1-before-reading-the-prompt", { prompt: "p".repeat(1 << 20) });
    expect(result).toMatchObject({ outcome: "failed", reason: "spawn_exited_early: exit 1" });
    expect(result.stderrTail).toContain("out of order");
  });

  test("16: the prompt's stdin ends after the final message", async () => {
    // This fake exits only when its stdin ends.
    const { result } = await run("claude-exits-when-stdin-ends");
    expect(result).toMatchObject({ outcome: "success", reason: "completed" });
  });

  test("24: an extra argument of 131,072 bytes is refused by name", async () => {
    const { starting } = await startFake("claude-succeeds", place, {
      extraArgs: [`--debug=${"x".repeat(131_072)}`],
    });
    expect((await refusal(starting)).issues).toMatchObject([
      { code: "option_invalid", path: "extraArgs[0]" },
    ]);
  });

  test.each([undefined, "relative", "/nowhere/at/all"])("55: cwd %j is refused", async (cwd) => {
    const { starting } = await startFake("claude-succeeds", place, { cwd: cwd as string });
    expect((await refusal(starting)).issues).toContainEqual(
      expect.objectContaining({ code: "option_invalid", path: "cwd" }),
    );
  });
});

describe("the canary", () => {
  test("that does not come refuses as attestation_failed, and no prompt is handed over", async () => {
    const { starting, seen } = await startFake("claude-loses-its-canary", place, {
      deadlines: { attestMs: 1_500 },
    });
    expect((await refusal(starting)).issues).toMatchObject([
      { code: "attestation_failed", path: "canary", message: expect.stringContaining("SessionStart") },
    ]);
    expect(seen.exits).toEqual(["refused"]);
    expect(seen.receipts).toContainEqual(expect.objectContaining({ kind: "attested", canary: "missing" }));
    expect(await leftovers(place)).toEqual([]);
  });

  test("is no hook of the user's: it is not counted and not shown, but attested", async () => {
    const { result, events, seen } = await run("claude-succeeds");
    const row = { rendered: true, preflighted: true, late: 0, never: 0 };
    expect(result.attestation).toEqual({
      canary: "came",
      events: [
        { event: "SessionStart", ...row, fired: 1, answered: 1 },
        { event: "PreToolUse", ...row, fired: 0, answered: 0 },
      ],
    });
    // agent_prompt and agent_exit alone.
    expect(result.hooks.fired).toBe(2);
    expect(events.some((event) => event.type === "hook" && event.event === "SessionStart")).toBe(false);
    expect(seen.receipts).toContainEqual(
      expect.objectContaining({ kind: "attested", ...result.attestation }),
    );
  });

  test("is a hook of the user's when the user has one", async () => {
    const { result, events } = await run("claude-succeeds", { handlers: { SessionStart: () => undefined } });
    expect(result.hooks).toMatchObject({ fired: 3, ran: 2 });
    expect(events).toContainEqual(expect.objectContaining({ type: "hook", event: "SessionStart" }));
  });
});

describe("an exit code that Bridle did not give", () => {
  test("ends the run as unenforced, with event, code and the last call", async () => {
    const { result } = await run("claude-sees-a-forged-answer", {
      handlers: {
        PreToolUse: () => ({
          hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "no" },
        }),
      },
    });
    expect(result).toMatchObject({ outcome: "unenforced", signal: "SIGKILL" });
    expect(result.reason).toBe(
      "unanswered: the agent saw exit 0 of a PreToolUse hook 1 times and Bridle gave it 0 times" +
        "; answered otherwise, last: PreToolUse of Bash",
    );
  });
});

describe("a preflight", () => {
  test.each([
    ["hooks-missing", "attestation_failed"],
    ["hook-disabled", "attestation_failed"],
    ["bare-mode", "attestation_failed"],
    ["settings-errors", "attestation_failed"],
    ["other-source", "attestation_failed"],
    ["no-on-failure", "provider_unsupported"],
    ["all-disabled-by-policy", "provider_policy"],
    ["silence", "attestation_failed"],
  ])("that shows %s refuses as %s, agent_exit fires once as refused, nothing is left", async (lie, code) => {
    const { starting, seen } = await startFake(`claude-lies-${lie}`, place, {
      deadlines: { attestMs: lie === "silence" ? 500 : 15_000 },
    });
    expect((await refusal(starting)).issues.map((issue) => issue.code)).toContain(code);
    expect(seen.exits).toEqual(["refused"]);
    expect(await leftovers(place)).toEqual([]);
  });
});

describe("an abort", () => {
  test.each([0, 1, 5, 50])("after %d ms ends the run or its start, and leaves nothing", async (ms) => {
    const { starting, seen } = await startFake("claude-never-exits-after-result", place, {
      signal: AbortSignal.timeout(ms),
      deadlines: { stopMs: 200 },
    });
    const outcome = await starting.then(
      async (agent) => (await agent.result).outcome,
      () => "rejected",
    );
    expect(["interrupted", "rejected"]).toContain(outcome);
    expect(seen.exits.length).toBeLessThanOrEqual(1);
    expect(await leftovers(place)).toEqual([]);
  });
});

describe("a token that was not minted is refused as token_forged", () => {
  const forgeries: [string, (token: RenderedHooks) => unknown][] = [
    ["a spread copy", (token) => ({ ...token })],
    ["Object.create of it", (token) => Object.create(token)],
    ["Object.create of its class", () => Object.create(RenderedHooks.prototype)],
    ["a JSON round trip", (token) => JSON.parse(JSON.stringify(token))],
    ["a Proxy", (token) => new Proxy(token, {})],
    ["a structured clone", (token) => structuredClone({ ...token })],
    [
      "a plain object given its class",
      (token) => Object.setPrototypeOf({ ...token }, RenderedHooks.prototype),
    ],
    ["nothing", () => undefined],
    ["a string", () => "token"],
  ];
  test.each(forgeries)("%s", async (_name, forge) => {
    const token = await compileFake("claude-succeeds", place, { receipts: [], exits: [] });
    const hooks = forge(token) as RenderedHooks;
    const starting = spawnAgent({ hooks, prompt: "p", cwd: place.cwd, baseEnv: place.env });
    expect((await refusal(starting)).issues.map(({ code }) => code)).toEqual(["token_forged"]);
  });
});
