import { chmod, mkdir, mkdtemp, realpath, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chainDeadlineMs, deadlineFor } from "../../src/compiler/deadlines.ts";
import { findProviderBinary } from "../../src/compiler/find-binary.ts";
import type { CompiledEntry } from "../../src/compiler/plan.ts";
import { resolveCommand } from "../../src/compiler/resolve-command.ts";
import { planOf } from "../../src/compiler/token.ts";
import { type AgentHooksRefused, compileAgentHooks, explain, RenderedHooks } from "../../src/index.ts";
import { capabilityOf, EVENT_NAMES, PROVIDERS } from "../../src/profile/events.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";

/** All that a compile asks of a provider. */
const STAND_IN = `#!${process.execPath}\n${FAKE_PROVIDER_MARK}\nconsole.log("2.1.332+fake (Claude Code) codex-cli");\n`;

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bridle-compiler-")));
  await put("guard.sh", "#!/bin/sh\n", 0o755);
  await put("claude", STAND_IN, 0o755);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, content: string, mode = 0o644): Promise<string> {
  const file = join(root, path);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, content);
  await chmod(file, mode);
  return file;
}

const compile = (entry: object = {}) =>
  compileAgentHooks(
    { PreToolUse: [{ hooks: [{ type: "command", command: ["./guard.sh", "--key", "s3cret"], ...entry }] }] },
    { provider: "claude", cwd: root, binary: "./claude", prove: "off" },
  );

const codesOf = (run: () => unknown): string[] => {
  try {
    run();
    return [];
  } catch (error) {
    return (error as AgentHooksRefused).issues.map(({ code }) => code);
  }
};

describe("the canary", () => {
  const eventsOf = async (...declared: string[]) => {
    const hooks = [{ hooks: [{ type: "function" as const, handler: () => undefined }] }];
    const declaration = Object.fromEntries(declared.map((event) => [event, hooks]));
    const { events, deadlines } = planOf(
      await compileAgentHooks(declaration, {
        provider: "claude",
        cwd: root,
        binary: "./claude",
        prove: "off",
      }),
    );
    return { events, deadlines };
  };

  test.each([
    [["PreToolUse"], ["SessionStart", "PreToolUse"]],
    [
      ["agent_exit", "Stop"],
      ["SessionStart", "Stop"],
    ],
    [
      ["Stop", "SessionStart"],
      ["Stop", "SessionStart"],
    ],
    [["agent_prompt", "agent_exit"], []],
  ])("of a declaration of %j makes the rendered events %j", async (declared, events) => {
    expect((await eventsOf(...declared)).events).toEqual(events);
  });

  test("has time to be answered on a busy machine, although it runs nothing", async () => {
    expect((await eventsOf("PreToolUse")).deadlines.SessionStart).toEqual({
      shimSeconds: 17,
      providerSeconds: 22,
    });
  });
});

describe("warnings", () => {
  const warningsOf = async (provider: "claude" | "codex", event: string, matcher?: string) => {
    const group = { hooks: [{ type: "function" as const, handler: () => undefined }] };
    const declaration = { [event]: [matcher === undefined ? group : { matcher, ...group }] };
    const token = await compileAgentHooks(declaration, {
      provider,
      cwd: root,
      binary: "./claude",
      prove: "off",
    });
    return token.describe().warnings.map(({ code }) => code);
  };

  test.each([undefined, "*", "kind:shell", "Bash", "B.sh"])(
    "say what codex does not ask a shell guard (%s)",
    async (matcher) => {
      expect(await warningsOf("codex", "PreToolUse", matcher)).toEqual(["hole_write_stdin"]);
    },
  );

  test.each([
    ["codex", "PreToolUse", "kind:mcp"],
    ["codex", "PostToolUse", undefined],
    ["claude", "PreToolUse", undefined],
  ] as const)("there are none for %s, %s, %s", async (provider, event, matcher) => {
    expect(await warningsOf(provider, event, matcher)).toEqual([]);
  });
});

describe("a token", () => {
  const forgeries: [string, (token: RenderedHooks) => unknown][] = [
    ["a spread copy", (token) => ({ ...token })],
    ["Object.create of it", (token) => Object.create(token)],
    ["a JSON round trip", (token) => JSON.parse(JSON.stringify(token))],
    ["a Proxy", (token) => new Proxy(token, {})],
    ["a structured clone", (token) => structuredClone({ ...token })],
    ["an object given its class", (token) => Object.setPrototypeOf({ ...token }, RenderedHooks.prototype)],
  ];
  test.each(forgeries)("that is %s is refused by explain", async (_name, forge) => {
    const forged = forge(await compile()) as RenderedHooks;
    expect(codesOf(() => explain(forged, { cwd: root }))).toEqual(["token_forged"]);
  });

  test("cannot be made with new, nor by a subclass", () => {
    const Class = RenderedHooks as unknown as new (key: symbol, plan: object) => RenderedHooks;
    class Sub extends Class {}
    expect([
      codesOf(() => new Class(Symbol("mint"), {})),
      codesOf(() => new Sub(Symbol("mint"), {})),
    ]).toEqual([["token_forged"], ["token_forged"]]);
  });

  test("and its plan are frozen", async () => {
    const token = await compile();
    expect([Object.isFrozen(token), Object.isFrozen(planOf(token).entries[0])]).toEqual([true, true]);
  });

  test("describes itself without arguments and values", async () => {
    const token = await compile({ env: { MY_VAR: "pl4nted" } });
    expect(JSON.stringify(token)).not.toMatch(/s3cret|pl4nted/);
    expect(token.describe().hooks[0]).toMatchObject({ program: `${root}/guard.sh (+2)`, env: ["MY_VAR"] });
  });

  test("explains itself without arguments and values of a guard", async () => {
    const shown = explain(await compile({ env: { MY_VAR: "pl4nted" } }), { cwd: root });
    expect(JSON.stringify(shown)).not.toMatch(/s3cret|pl4nted/);
  });

  test("keeps its digest when a guard is only touched", async () => {
    const { digest } = await compile();
    await utimes(join(root, "guard.sh"), new Date(0), new Date(0));
    expect((await compile()).digest).toBe(digest);
  });

  test("has another digest for other bytes, another timeout, another mode of failure, or another way to be asked", async () => {
    const digests = [
      await compile(),
      await compile({ timeout: 5 }),
      await compile({ on_failure: "open" }),
      await compile({ persistent: true }),
    ];
    await put("guard.sh", "#!/bin/sh\nexit 0\n", 0o755);
    digests.push(await compile());
    expect(new Set(digests.map(({ digest }) => digest)).size).toBe(5);
    expect((await compile({ persistent: false })).digest).toBe(digests.at(-1)?.digest);
  });
});

test("all problems are reported together, the missing binary too", async () => {
  const compiling = compileAgentHooks(
    {
      Interrupt: [{ hooks: [{ type: "function", handler: () => undefined }] }],
      PreToolUse: [{ hooks: [{ type: "command", command: ["./none"] }] }],
    },
    { provider: "claude", cwd: root, binary: "./nobody", prove: "off" },
  );
  const error = await compiling.catch((reason: AgentHooksRefused) => reason);
  expect((error as AgentHooksRefused).issues.map(({ code }) => code)).toEqual([
    "event_unsupported",
    "command_not_found",
    "provider_not_found",
  ]);
});

describe("a command", () => {
  const resolve = (...command: string[]) => resolveCommand(command, "at", { root, path: "/usr/bin:/bin" });

  test("has its script made absolute and both files identified", async () => {
    const script = await put("g.js", "");
    const found = await resolve("node", "g.js").then((one) => ("code" in one ? resolve("sh", "g.js") : one));
    expect(found).toMatchObject({ argv: [expect.stringMatching(/^\//), script] });
    expect("files" in found && found.files.map(({ path }) => path)).toEqual([expect.any(String), script]);
  });

  test("keeps a bare word that happens to name a file", async () => {
    await put("test", "");
    expect(await resolve("./guard.sh", "test")).toMatchObject({ argv: [join(root, "guard.sh"), "test"] });
  });

  test("whose script is missing is refused", async () => {
    expect(await resolve("sh", "none.sh")).toMatchObject({ code: "command_not_found" });
  });

  test("with an inline program needs no script", async () => {
    expect(await resolve("sh", "-c", "exit 0")).toMatchObject({ argv: [expect.any(String), "-c", "exit 0"] });
  });

  test("that is not executable is refused with what to do", async () => {
    await put("plain.sh", "");
    expect(await resolve("./plain.sh")).toMatchObject({
      code: "command_not_found",
      hint: expect.stringContaining("chmod +x"),
    });
  });

  test("behind a link runs the real file under the name it was declared by", async () => {
    await mkdir(join(root, "venv/bin"), { recursive: true });
    await symlink(join(root, "guard.sh"), join(root, "venv/bin/python"));
    await put("g.py", "");
    expect(await resolve("./venv/bin/python", "g.py")).toMatchObject({
      argv0: join(root, "venv/bin/python"),
      argv: [join(root, "guard.sh"), join(root, "g.py")],
    });
  });
});

test("behind an npm wrapper the native binary is found", async () => {
  const at = `lib/node_modules/@anthropic-ai`;
  await put(`${at}/claude-code/cli.js`, "#!/usr/bin/env node\n", 0o755);
  const native = await put(
    `${at}/claude-code/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
    "\x7fELF",
    0o755,
  );
  await mkdir(join(root, "bin"));
  await symlink(join(root, at, "claude-code/cli.js"), join(root, "bin/claude"));
  expect((await findProviderBinary("claude", { cwd: root, path: join(root, "bin") })).path).toBe(native);
});

test("deadlines nest for every event and provider", () => {
  const timeouts = fc.array(fc.integer({ min: 1, max: 3_600_000 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.constantFrom(...EVENT_NAMES),
      fc.constantFrom(...PROVIDERS),
      timeouts,
      (event, provider, list) => {
        const entries = list.map((timeoutMs) => ({ timeoutMs }) as CompiledEntry);
        const { providerSeconds, shimSeconds } = deadlineFor(event, provider, entries);
        expect(Number.isInteger(shimSeconds) && Number.isInteger(providerSeconds)).toBe(true);
        expect(providerSeconds).toBeGreaterThan(shimSeconds);
        expect(chainDeadlineMs(entries)).toBeGreaterThan(list.reduce((sum, ms) => sum + ms, 0));
        const { awaited, [provider]: fired } = capabilityOf(event);
        if (awaited && fired.capSeconds === undefined)
          expect((shimSeconds - 1) * 1000).toBeGreaterThan(chainDeadlineMs(entries));
        if (fired.capSeconds !== undefined) expect(providerSeconds).toBeLessThanOrEqual(fired.capSeconds);
      },
    ),
  );
});
