// What of an agent_exit chain is written down, and how a token gives back what is not.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { planOf } from "../../src/compiler/token.ts";
import { compileAgentHooks, type HookGroup } from "../../src/index.ts";
import { describeExitChain, resolveExitChain } from "../../src/journal/exit-chain.ts";
import { exitHook, type RunRecord } from "../../src/journal/record.ts";
import { runExitChain } from "../../src/journal/run-exit-chain.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const SECRET = "another-secret-value";

/** A plan with one command of `agent_exit`. */
async function planWith(words: readonly string[], env: Record<string, string> = {}, group: object = {}) {
  const program = join(place.home, "tell");
  await writeFile(program, "#!/bin/sh\n");
  await chmod(program, 0o755);
  return planOfGroup({ ...group, hooks: [{ type: "command", command: [program, ...words], env }] });
}

async function planOfGroup(group: HookGroup) {
  const { binary } = await createFakeProvider({
    provider: "claude",
    script: { steps: [] },
    directory: place.home,
  });
  const hooks = await compileAgentHooks(
    { agent_exit: [group] },
    { provider: "claude", cwd: place.cwd, binary, prove: "off" },
  );
  return planOf(hooks);
}

const write = (plan: Awaited<ReturnType<typeof planWith>>) =>
  describeExitChain(plan, createRedactor({ env: {}, values: [SECRET] }));

test("a command is written down so that it can be run without its token", async () => {
  const plan = await planWith(["a", "b c"]);
  const { entries, problems } = resolveExitChain(write(plan), [], {});
  expect(problems).toEqual([]);
  const [entry] = plan.entries;
  expect(entries).toEqual([entry]);
});

test("words with a known secret are not written, and only a token gives them back", async () => {
  const plan = await planWith(["--token", SECRET]);
  const chain = write(plan);
  expect(JSON.stringify(chain)).not.toContain(SECRET);
  expect(resolveExitChain(chain, [], {}).problems).toEqual([expect.stringContaining("secret")]);
  expect(resolveExitChain(chain, [plan], {}).entries).toEqual(plan.entries);
});

test("values of variables are not written; a token or the environment gives them back", async () => {
  const plan = await planWith([], { NAME: "value-of-it" });
  const chain = write(plan);
  expect(JSON.stringify(chain)).not.toContain("value-of-it");
  expect(resolveExitChain(chain, [], {}).problems).toEqual([expect.stringContaining("NAME")]);
  expect(resolveExitChain(chain, [plan], {}).entries).toEqual(plan.entries);
  expect(resolveExitChain(chain, [], { NAME: "other" }).entries).toMatchObject([{ env: { NAME: "other" } }]);
});

test("a token with other words is not taken for the same", async () => {
  const chain = write(await planWith(["one"], { NAME: "x" }));
  const other = await planWith(["two"], { NAME: "x" });
  expect(resolveExitChain(chain, [other], {}).problems).toHaveLength(1);
});

test("a variable that is read from another is written down by both names, and read again", async () => {
  const plan = await planWith([], { NAME: "env:OTHER" });
  const chain = write(plan);
  expect(chain[0]).toMatchObject({ envNames: ["NAME"], envReferences: { NAME: "env:OTHER" } });
  const without = expect.stringContaining("OTHER");
  for (const plans of [[], [plan]]) {
    expect(resolveExitChain(chain, plans, { OTHER: "v" }).entries).toMatchObject([{ env: { NAME: "v" } }]);
    expect(resolveExitChain(chain, plans, { NAME: "not this one" }).problems).toEqual([without]);
  }
});

const http = {
  type: "http",
  url: `https://guard.example/?key=${SECRET}`,
  headers: { "x-key": SECRET },
} as const;

test("an http hook is written down by its fingerprint alone, and a token with the same hook gives it back", async () => {
  const plan = await planOfGroup({ hooks: [http] });
  const chain = write(plan);
  expect(Object.keys(chain[0] ?? {}).sort()).toEqual([
    "fingerprint",
    "grants",
    "id",
    "onFailure",
    "timeoutMs",
    "type",
  ]);
  expect(resolveExitChain(chain, [], {}).problems).toEqual([expect.stringContaining("http hook")]);
  expect(resolveExitChain(chain, [], {}).problems[0]).toContain("pass a token with the same hook");
  expect(resolveExitChain(chain, [plan], {}).entries).toEqual(plan.entries);
  const other = await planOfGroup({ hooks: [{ ...http, url: "https://guard.example/" }] });
  expect(resolveExitChain(chain, [other], {}).problems).toHaveLength(1);
});

test("an http hook's header that names a variable is read when it is recovered", async () => {
  const plan = await planOfGroup({ hooks: [{ ...http, headers: { "x-key": "env:OTHER" } }] });
  const chain = write(plan);
  expect(resolveExitChain(chain, [plan], { OTHER: "v" }).entries).toMatchObject([
    { headers: { "x-key": "v" } },
  ]);
  expect(resolveExitChain(chain, [plan], {}).problems).toEqual([expect.stringContaining("OTHER")]);
});

test("a chain with an http hook is one that a journal can hold", async () => {
  const chain = write(await planOfGroup({ where: { outcome: "failed" }, hooks: [http] }));
  expect(exitHook.parse(JSON.parse(JSON.stringify(chain[0])))).toEqual(chain[0]);
});

test("the where of a command is written down and holds when it is recovered", async () => {
  const where = { outcome: { $in: ["lost", "failed"] } };
  const plan = await planWith(["a"], {}, { where });
  const chain = write(plan);
  expect(exitHook.parse(JSON.parse(JSON.stringify(chain[0])))).toMatchObject({ where });
  expect(resolveExitChain(chain, [], {}).entries).toMatchObject([{ where }]);
  const [without] = write(await planWith(["a"]));
  expect(without).not.toHaveProperty("where");
  expect(without?.fingerprint).not.toBe(chain[0]?.fingerprint);
});

test("a where with a known secret is not written down, and only a token gives it back", async () => {
  const plan = await planWith(["a"], {}, { where: { reason: SECRET } });
  const chain = write(plan);
  expect(JSON.stringify(chain)).not.toContain(SECRET);
  expect(resolveExitChain(chain, [], {}).problems).toHaveLength(1);
  expect(resolveExitChain(chain, [plan], {}).entries).toMatchObject([{ where: { reason: SECRET } }]);
});

test("hooks that were to run in the background run in their turn when they are recovered, and are told", async () => {
  const group: HookGroup = {
    hooks: [
      { type: "function", handler: () => undefined, async: true },
      { type: "function", handler: () => null, once: true },
    ],
  };
  const { entries, problems } = resolveExitChain(
    write(await planOfGroup(group)),
    [await planOfGroup(group)],
    {},
  );
  expect(problems).toEqual([]);
  const admitted = {
    runId: "r",
    sessionId: "s",
    provider: "claude",
    cwd: place.cwd,
    hookPath: "/usr/bin:/bin",
    projectRoot: place.cwd,
    at: new Date(0).toISOString(),
  };
  const hooks = await runExitChain({
    record: { admitted } as RunRecord,
    entries,
    extinction: { state: "swept", method: "sweep", survivors: [] },
    env: {},
  });
  expect(hooks).toMatchObject([
    { id: "agent_exit[0].hooks[0]", exit: { kind: "exit", code: 0 }, failed: false },
    { id: "agent_exit[0].hooks[1]", exit: { kind: "exit", code: 0 }, failed: false },
  ]);
});
