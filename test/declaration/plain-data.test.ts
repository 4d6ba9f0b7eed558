// A declaration given in TypeScript that is no plain data: refused with its place, whatever it throws, and never read on.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLiving } from "../../src/declaration/plain-data.ts";
import { validateDeclaration } from "../../src/declaration/validate.ts";
import { type AgentHooksRefused, compileAgentHooks } from "../../src/index.ts";

let reads = 0;
const fail = (): never => {
  reads += 1;
  throw new TypeError("raw");
};
const proxy = (target: object) =>
  new Proxy(target, {
    get: fail,
    ownKeys: fail,
    getPrototypeOf: fail,
    has: fail,
    getOwnPropertyDescriptor: fail,
  });
const revoked = () => {
  const { proxy: gone, revoke } = Proxy.revocable({}, {});
  revoke();
  return gone;
};
const getter = (name: string, rest: object = {}) =>
  Object.defineProperty({ ...rest }, name, { get: fail, enumerable: true });
class Entry {
  readonly type = "command";
  get command(): string[] {
    return fail();
  }
}

const entry = { type: "command", command: ["true"] };
const group = (rest: object) => ({ PreToolUse: [{ hooks: [entry], ...rest }] });
const withEntry = (one: unknown) => ({ PreToolUse: [{ hooks: [entry, one] }] });

const cases: [string, () => unknown, string, string][] = [
  ["where, a Proxy", () => group({ where: proxy({}) }), "matcher_invalid", ": PreToolUse[0].where"],
  [
    "where, a Proxy that is gone",
    () => group({ where: revoked() }),
    "matcher_invalid",
    ": PreToolUse[0].where",
  ],
  [
    "where with a getter",
    () => group({ where: getter("cwd") }),
    "matcher_invalid",
    ": PreToolUse[0].where.cwd",
  ],
  [
    "where with a getter deep inside",
    () => group({ where: { tool_input: { command: { $in: ["a", getter("x")] } } } }),
    "matcher_invalid",
    ": PreToolUse[0].where.tool_input.command.$in[1].x",
  ],
  [
    "a getter for where",
    () => ({ PreToolUse: [getter("where", { hooks: [entry] })] }),
    "matcher_invalid",
    ": PreToolUse[0].where",
  ],
  [
    "a getter for matcher",
    () => ({ PreToolUse: [getter("matcher", { hooks: [entry] })] }),
    "matcher_invalid",
    ": PreToolUse[0].matcher",
  ],
  [
    "a getter for hooks",
    () => ({ PreToolUse: [getter("hooks")] }),
    "declaration_invalid",
    ": PreToolUse[0].hooks",
  ],
  ["a Proxy of an entry", () => withEntry(proxy(entry)), "declaration_invalid", ": PreToolUse[0].hooks[1]"],
  [
    "a getter for command",
    () => withEntry(getter("command", { type: "command" })),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].command",
  ],
  [
    "a getter of a class",
    () => withEntry(new Entry()),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].command",
  ],
  [
    "a Proxy of a list",
    () => withEntry({ type: "command", command: proxy([]) }),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].command",
  ],
  [
    "a getter in env",
    () => withEntry({ ...entry, env: getter("A") }),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].env.A",
  ],
  [
    "a getter in headers",
    () => withEntry({ type: "http", url: "https://x.example", headers: getter("a") }),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].headers.a",
  ],
  [
    "a getter in a self-test",
    () => withEntry({ ...entry, selftest: [{ input: getter("a"), expect: "deny" }] }),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].selftest[0].input.a",
  ],
  [
    "a getter of a place in a list",
    () => withEntry({ type: "command", command: Object.defineProperty(["true"], 1, { get: fail }) }),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].command[1]",
  ],
  [
    "a Proxy behind an entry",
    () => withEntry(Object.create(proxy({}))),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1]",
  ],
  [
    "a handler whose name throws",
    () => withEntry({ type: "function", handler: Object.defineProperty(() => null, "name", { get: fail }) }),
    "declaration_invalid",
    ": PreToolUse[0].hooks[1].handler",
  ],
  ["a getter for an event", () => getter("PreToolUse"), "declaration_invalid", ": PreToolUse"],
  ["a Proxy of groups", () => ({ PreToolUse: proxy([]) }), "declaration_invalid", ": PreToolUse"],
  ["a Proxy of it all", () => proxy({}), "declaration_invalid", ""],
];

test.each(cases)("%s is refused with its place, and is not asked", (name, make, code, at) => {
  reads = 0;
  const { issues } = validateDeclaration(make());
  expect(issues).toMatchObject([
    { code, path: `declaration${at}`, message: expect.stringMatching(/^is a /) },
  ]);
  expect(reads).toBe(name.startsWith("a handler") ? 1 : 0);
});

test.each(cases)("compileAgentHooks refuses %s as AgentHooksRefused", async (_, make, code, at) => {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), "bridle-plain-")));
  try {
    const options = { provider: "claude", cwd, binary: join(cwd, "none"), prove: "off" } as const;
    const error = await compileAgentHooks(make() as never, options).catch((one: AgentHooksRefused) => one);
    expect(error).toMatchObject({ name: "AgentHooksRefused" });
    expect((error as AgentHooksRefused).issues).toContainEqual(
      expect.objectContaining({ code, path: `declaration${at}` }),
    );
  } finally {
    await rm(cwd, { recursive: true });
  }
});

test("plain data is plain: cycles, shared parts, deep nesting, null prototypes, instances without getters, Proxies of functions", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  let deep: unknown = 1;
  for (let n = 0; n < 200_000; n += 1) deep = [deep];
  class Plain {
    readonly type = "command";
    run() {}
  }
  for (const value of [
    cycle,
    [entry, entry],
    deep,
    Object.create(null),
    new Plain(),
    new Proxy(() => null, {}),
    new Date(),
    undefined,
  ])
    expect(findLiving(value)).toBeUndefined();
});

test("the first of several in the order of writing is told", () => {
  expect(findLiving([{ a: 1 }, getter("b"), proxy({})])).toEqual({ at: "[1].b", what: "a getter" });
});
