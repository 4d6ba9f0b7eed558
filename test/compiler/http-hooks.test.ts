// What compile makes of http hooks, and of entries that run once, in the background or only where something holds.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { planOf } from "../../src/compiler/token.ts";
import {
  type AgentHooksRefused,
  compileAgentHooks,
  type HookDeclaration,
  type HookEntry,
  listHooks,
  loadSettings,
} from "../../src/index.ts";
import { fingerprintGates } from "../../src/spawn/session-record.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";

let place: Place;
let binary: string;
beforeEach(async () => {
  place = await makePlace();
  ({ binary } = await createFakeProvider({
    provider: "claude",
    script: { steps: [] },
    directory: join(place.home, "fakes"),
  }));
});
afterEach(() => place.remove());

const URL_WITH_QUERY = "https://guard.example/check?key=pl4nted";
const http: HookEntry = { type: "http", url: URL_WITH_QUERY, headers: { "x-key": "pl4nted" } };
const fn: HookEntry = { type: "function", handler: () => undefined };

const compile = (declaration: HookDeclaration, options: object = {}) =>
  compileAgentHooks(declaration, { provider: "claude", cwd: place.cwd, binary, prove: "off", ...options });
const describeOne = async (group: HookDeclaration[string][number], event = "PreToolUse") =>
  (await compile({ [event]: [group] })).describe();

describe("a token", () => {
  test("describes an http hook by address and names, without values", async () => {
    const { hooks } = await describeOne({ hooks: [http] });
    expect(hooks).toMatchObject([
      { type: "http", program: "POST https://guard.example/check?key=…", headers: ["x-key"], env: [] },
    ]);
    expect(JSON.stringify(hooks)).not.toContain("pl4nted");
  });

  test("tells once, async and where, and nothing where they are not said", async () => {
    const where = { tool_input: { command: { $contains: "rm" } } };
    const said = await describeOne({ where, hooks: [{ ...fn, once: true, async: true }] });
    expect(said.hooks[0]).toMatchObject({ where, once: true, async: true });
    const silent = await describeOne({ hooks: [{ ...fn, once: false, async: false }] });
    for (const key of ["where", "once", "async", "headers"]) expect(silent.hooks[0]).not.toHaveProperty(key);
  });

  test("does not change with the caller's own objects, and does not freeze them", async () => {
    const where = { tool_name: "Bash" };
    const headers = { "x-key": "one" };
    const token = await compile({
      PreToolUse: [{ where, hooks: [{ type: "http", url: URL_WITH_QUERY, headers }] }],
    });
    where.tool_name = "Edit";
    headers["x-key"] = "two";
    expect(planOf(token).entries).toMatchObject([
      { where: { tool_name: "Bash" }, headers: { "x-key": "one" } },
    ]);
  });

  test("has another digest for another address, header, where, once or async", async () => {
    const groups: HookDeclaration[string] = [
      { hooks: [http] },
      { hooks: [{ ...http, url: "https://guard.example/other" }] },
      { hooks: [{ ...http, headers: { "x-key": "other" } }] },
      { hooks: [{ ...http, headers: {} }] },
      { hooks: [{ ...http, once: true }] },
      { hooks: [{ ...http, async: true }] },
      { where: { tool_name: "Bash" }, hooks: [http] },
      { where: { tool_name: "Edit" }, hooks: [http] },
    ];
    const digests = await Promise.all(groups.map(async (group) => (await describeOne(group)).digest));
    expect(new Set(digests).size).toBe(groups.length);
    const unsaid = await describeOne({ hooks: [{ ...http, once: false, async: false }] });
    expect(unsaid.digest).toBe(digests[0]);
  });

  test("gives a kept session another gate when a gate is narrowed, and the same when it is not", async () => {
    const gatesOf = async (group: HookDeclaration[string][number]) =>
      fingerprintGates(planOf(await compile({ PreToolUse: [group] })));
    const groups: HookDeclaration[string] = [
      { hooks: [http] },
      { hooks: [{ ...http, url: "https://guard.example/other" }] },
      { hooks: [{ ...http, async: true }] },
      { hooks: [{ ...http, once: true }] },
      { where: { tool_name: "Bash" }, hooks: [http] },
    ];
    const gates = await Promise.all(groups.map(gatesOf));
    expect(new Set(gates.flat()).size).toBe(groups.length);
    expect(await gatesOf({ hooks: [{ ...http, once: false }] })).toEqual(gates[0]);
  });
});

describe("warnings", () => {
  const warningsOf = async (event: string, terms: object) =>
    (await describeOne({ hooks: [{ ...fn, ...terms }] }, event)).warnings;

  test.each(["PreToolUse", "UserPromptSubmit", "agent_prompt", "PermissionRequest"])(
    "tell that an async hook on the gate %s never blocks",
    async (event) => {
      expect(await warningsOf(event, { async: true })).toEqual([
        { code: "async_never_blocks", message: expect.stringContaining(`${event}[0].hooks[0]`) },
      ]);
      expect(await warningsOf(event, {})).toEqual([]);
    },
  );

  test("tell nothing of one where nothing is blocked anyway", async () => {
    expect(await warningsOf("PostToolUse", { async: true })).toEqual([]);
  });
});

describe("an http entry that needs trust", () => {
  const load = async (event: string, { plugin = true } = {}) => {
    const root = plugin ? join(place.home, "plugin") : place.cwd;
    await mkdir(join(root, ".lionagi"), { recursive: true });
    await writeFile(
      join(root, ".lionagi/settings.yaml"),
      stringify({ hooks_external: { [event]: [{ hooks: [http] }] } }),
    );
    return loadSettings({ cwd: place.cwd, home: place.home, plugins: plugin ? [root] : [] });
  };
  const compileLoaded = async (settings: Awaited<ReturnType<typeof load>>) =>
    compile(settings.declaration, { origins: settings.origins, trust: { home: place.home } });

  test("on a gate of a plugin's bundle refuses, and says why", async () => {
    const error = await compileLoaded(await load("PreToolUse")).catch((reason: AgentHooksRefused) => reason);
    const { issues } = error as AgentHooksRefused;
    expect(issues).toMatchObject([
      { code: "command_untrusted", message: expect.stringContaining("only commands can be pinned") },
    ]);
    expect(issues[0]?.path).toContain("PreToolUse[0].hooks[0].url");
    expect(JSON.stringify(issues)).not.toContain("pl4nted");
  });

  test("elsewhere is left out, with a warning", async () => {
    const token = await compileLoaded(await load("PostToolUse"));
    expect(planOf(token).entries).toEqual([]);
    expect(token.describe()).toMatchObject({
      skipped: [{ id: "PostToolUse[0].hooks[0]", tier: "plugin", trust: "untrusted" }],
      warnings: [
        { code: "command_untrusted", message: expect.stringContaining("only commands can be pinned") },
      ],
    });
  });

  test.each(["PreToolUse", "PostToolUse"])("on %s is listed as one that does not run", async (event) => {
    const [listed] = await listHooks(await load(event));
    expect(listed).toMatchObject({
      command: ["POST", "https://guard.example/check?key=…"],
      state: "pending",
      trust: "untrusted",
    });
  });

  test("is none in the project's own file", async () => {
    const settings = await load("PreToolUse", { plugin: false });
    expect(planOf(await compileLoaded(settings)).entries).toHaveLength(1);
    expect(await listHooks(settings)).toMatchObject([{ state: "runs", trust: "own", tier: "project" }]);
  });

  test("with imported provenance does not run", async () => {
    const settings = await load("PreToolUse", { plugin: false });
    const origins = new Map(
      [...settings.origins].map(([entry, origin]) => [entry, { ...origin, tier: "imported" as const }]),
    );
    const compiling = compile(settings.declaration, { origins, trust: { home: place.home } });
    await expect(compiling).rejects.toMatchObject({ issues: [{ code: "command_untrusted" }] });
  });

  test("of a project that is not trusted refuses like every other entry of it", async () => {
    await load("PostToolUse", { plugin: false });
    const settings = await loadSettings({ cwd: place.cwd, home: place.home, requireTrustedProject: true });
    await expect(compileLoaded(settings)).rejects.toMatchObject({ issues: [{ code: "command_untrusted" }] });
  });
});

test("a header that names a variable that is not set is listed as one that refuses a run", async () => {
  await mkdir(join(place.cwd, ".lionagi"), { recursive: true });
  const entry = { ...http, headers: { authorization: "env:NOT_SET_HERE" } };
  await writeFile(
    join(place.cwd, ".lionagi/settings.yaml"),
    stringify({ hooks_external: { PreToolUse: [{ where: { tool_name: "Bash" }, hooks: [entry] }] } }),
  );
  const settings = await loadSettings({ cwd: place.cwd, home: place.home });
  expect(await listHooks(settings, { env: {} })).toMatchObject([
    {
      state: "refused",
      code: "placeholder_unset",
      problem: "its headers name NOT_SET_HERE, which is not set",
      where: { tool_name: "Bash" },
    },
  ]);
});

test("events of the in-process host refuse for a CLI, and say whose they are", async () => {
  for (const event of ["PreModelCall", "PostModelCall", "ErrorOccurred"])
    await expect(compile({ [event]: [{ hooks: [fn] }] })).rejects.toMatchObject({
      issues: [{ code: "event_unsupported", hint: expect.stringContaining("in-process host") }],
    });
});
