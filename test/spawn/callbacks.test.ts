// Hooks as callbacks over the agent's own pipes, from a real process to the decision and back. What may go wrong with them:
// test/testkit/sins.callbacks.test.ts.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { compileAgentHooks, spawnAgent } from "../../src/index.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { DENIAL, deny, isThere, play, rewrite, start } from "../testkit/support.ts";
import { isAlive, makePlace, type Place } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const WORK: FakeScript = { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "done" }] };
const asCallbacks = { provider: "claude", transport: "callbacks" } as const;

describe("a call", () => {
  test("that is admitted runs, and the run says how each event was asked", async () => {
    const stop: string[] = [];
    const handlers = {
      Stop: ({ hook_event_name: name }: { hook_event_name: string }) => void stop.push(name),
    };
    const { result, seen } = await play(place, { ...asCallbacks, script: WORK, handlers });
    expect(result).toMatchObject({ outcome: "success", hooks: { denied: 0, failed: 0, late: 0 } });
    expect(isThere(place, "ran")).toBe(true);
    expect(stop).toEqual(["Stop"]);
    expect(result.attestation.events.map(({ event, transport }) => [event, transport])).toEqual([
      ["SessionStart", "shim"],
      ["PreToolUse", "callback"],
      ["Stop", "callback"],
    ]);
    const calls = seen.receipts.flatMap((line) =>
      line.kind === "fired" && line.call !== 0 ? [line.call] : [],
    );
    expect(new Set(calls).size).toBe(calls.length);
  });

  test("that is denied does not run", async () => {
    const { result } = await play(place, { ...asCallbacks, script: WORK, handlers: { PreToolUse: deny } });
    expect(result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
    expect(isThere(place, "ran")).toBe(false);
  });

  test("that is rewritten runs as rewritten", async () => {
    const { result } = await play(place, { ...asCallbacks, script: WORK, handlers: { PreToolUse: rewrite } });
    expect(result.outcome).toBe("success");
    expect([isThere(place, "ran"), isThere(place, "rewritten")]).toEqual([false, true]);
  });

  test("whose envelope is a line above maxLineBytes is stopped, and the run ends as unenforced", async () => {
    const script: FakeScript = {
      steps: [{ tools: [{ write: { path: "ran", content: "x".repeat(100_000) } }] }, { text: "done" }],
    };
    const { result } = await play(place, { ...asCallbacks, script, options: { maxLineBytes: 65_536 } });
    expect(result).toMatchObject({
      outcome: "unenforced",
      reason: expect.stringMatching(/^envelope_unreadable: /),
    });
    expect(isThere(place, "ran")).toBe(false);
  });

  test("is decided while the consumer sleeps, although its question comes behind more than is read ahead", async () => {
    const flood = { text: "much", sins: [{ "flood-stdout": 8 }] } as const;
    const script: FakeScript = { steps: [flood, ...WORK.steps] };
    const { starting } = await start(place, { ...asCallbacks, script });
    const run = await starting;
    const events = run[Symbol.asyncIterator]();
    await events.next();
    for (let waited = 0; waited < 20_000 && !existsSync(join(place.cwd, "ran")); waited += 20)
      await delay(20);
    expect(isThere(place, "ran")).toBe(true);
    let last = await events.next();
    for (let next = last; next.done !== true; next = await events.next()) last = next;
    expect(last.value).toMatchObject({ type: "result" });
    expect((await run.result).outcome).toBe("success");
  });
});

test("the agent's hooks of other events stay with the shim", async () => {
  const { result } = await play(place, {
    ...asCallbacks,
    script: WORK,
    handlers: { UserPromptSubmit: () => ({ decision: "block", reason: "not today" }) },
  });
  expect(result.outcome).toBe("prompt_blocked");
  expect(result.attestation.events.find(({ event }) => event === "UserPromptSubmit")).toMatchObject({
    transport: "shim",
    answered: 1,
  });
});

test("a supervisor that ends the run answers what is pending with a denial", async () => {
  const { starting } = await start(place, {
    ...asCallbacks,
    script: WORK,
    handlers: { PreToolUse: () => delay(60_000, DENIAL, { ref: false }) },
    options: { deadlines: { wallMs: 1_000 } },
  });
  const run = await starting;
  for await (const _event of run);
  expect((await run.result).outcome).toBe("timed_out");
  expect(isThere(place, "ran")).toBe(false);
});

test("a guard that still runs when the run is ended is ended with it", async () => {
  const fake = await createFakeProvider({
    provider: "claude",
    script: WORK,
    directory: join(place.home, "fakes"),
  });
  const pidFile = join(place.home, "guard.pid");
  const hooks = await compileAgentHooks(
    {
      PreToolUse: [
        {
          hooks: [
            { type: "command", command: ["/bin/sh", "-c", 'echo $$ > "$1"; exec sleep 1000', "sh", pidFile] },
          ],
        },
      ],
    },
    { provider: "claude", cwd: place.cwd, binary: fake.binary, prove: "off", transport: "callbacks" },
  );
  const run = await spawnAgent({
    hooks,
    prompt: "hello",
    cwd: place.cwd,
    baseEnv: place.env,
    receiptSink: () => {},
    deadlines: { wallMs: 1_500 },
  });
  for await (const _event of run);
  expect((await run.result).outcome).toBe("timed_out");
  expect(isAlive(Number(await readFile(pidFile, "utf8")))).toBe(false);
});

test("callbacks for codex are refused at compile", async () => {
  const fake = await createFakeProvider({
    provider: "codex",
    script: WORK,
    directory: join(place.home, "fakes"),
  });
  await expect(
    compileAgentHooks(
      { PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
      { provider: "codex", cwd: place.cwd, binary: fake.binary, prove: "off", transport: "callbacks" },
    ),
  ).rejects.toMatchObject({ issues: [{ code: "option_invalid", path: "transport" }] });
});
