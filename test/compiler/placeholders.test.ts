import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { expandArgv, fillRunDirectory } from "../../src/compiler/placeholders.ts";
import { planOf } from "../../src/compiler/token.ts";
import { type AgentEvent, type CommandEntry, compileAgentHooks, spawnAgent } from "../../src/index.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { codesOf, group, issuesOf, makeWorld, type World } from "../trust/support.ts";

const VALUES = { project_dir: "/p", home: "/h", plugin_root: undefined };

describe("a word", () => {
  test.each([
    ["{project_dir}/g.sh", "/p/g.sh"],
    ["--at={home}:{project_dir}", "--at=/h:/p"],
    ["{a,b}", "{a,b}"],
    ["{}", "{}"],
    ["{ print $1 }", "{ print $1 }"],
    ['{"a":1}', '{"a":1}'],
    [`\${home}`, `\${home}`],
    ["{run_dir}/x", "{run_dir}/x"],
  ])("%j becomes %j at compile", (word, expected) => {
    expect(expandArgv([word], VALUES)).toMatchObject({ argv: [expected], unset: [] });
  });

  test.each([
    ["{plugin_root}/x", "plugin_root"],
    ["{projct_dir}", "projct_dir"],
    ["{HOME}", "HOME"],
    ["{constructor}", "constructor"],
  ])("%j has no value, and its name is told", (word, name) => {
    expect(expandArgv([word], VALUES).unset).toEqual([name]);
  });

  test("stays one word whatever the value holds, and a value is not expanded again", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (value, rest) => {
        const argv = ["{home}", ...rest.map((word) => word.replaceAll(/[{}]/g, ""))];
        const expanded = expandArgv(argv, { ...VALUES, home: value }).argv;
        expect(expanded).toEqual([value, ...argv.slice(1)]);
      }),
    );
    expect(expandArgv(["{home}"], { ...VALUES, home: "{project_dir} $(x)" }).argv).toEqual([
      "{project_dir} $(x)",
    ]);
    expect(fillRunDirectory(["a{run_dir}b", "c"], "/r $& x")).toEqual(["a/r $& xb", "c"]);
  });
});

describe("a declaration", () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld();
    await world.guard("project", "g.sh");
  });
  afterEach(() => world.remove());

  test.each(["plugin_root", "nowhere"])("with {%s} refuses and names it", async (name) => {
    await world.declare("project", { Stop: [group(["./g.sh", `{${name}}`])] });
    expect(await issuesOf(world.compile())).toMatchObject([
      { code: "placeholder_unset", message: `{${name}} has no value` },
    ]);
  });

  test.each(["agent_prompt", "agent_exit"])(
    "with {run_dir} on %s refuses: there is no run directory",
    async (event) => {
      await world.declare("project", { [event]: [group(["./g.sh", "{run_dir}"])] });
      expect(await codesOf(world.compile())).toEqual(["placeholder_unset"]);
    },
  );

  test("in code has placeholders too, {plugin_root} when the caller says where", async () => {
    await world.guard("plugin", "p.sh");
    const compile = (pluginRoot?: string) =>
      compileAgentHooks(
        { Stop: [group(["{plugin_root}/p.sh", "{project_dir}"])] },
        {
          provider: "claude",
          cwd: world.project,
          binary: world.binary,
          prove: "off",
          ...(pluginRoot === undefined ? {} : { pluginRoot }),
        },
      );
    expect(planOf(await compile(world.plugin)).entries).toMatchObject([
      { argv: [join(world.plugin, "p.sh"), world.project] },
    ]);
    expect(await codesOf(compile())).toEqual(["placeholder_unset"]);
    expect(await codesOf(compile("relative"))).toEqual(["option_invalid"]);
  });

  test("has another digest when its expanded argv is another, and the same when only lines move", async () => {
    const digestWith = async (pluginRoot: string) => {
      const hooks = await compileAgentHooks(
        { Stop: [group(["./g.sh", "{plugin_root}"])] },
        { provider: "claude", cwd: world.project, binary: world.binary, prove: "off", pluginRoot },
      );
      return hooks.digest;
    };
    expect(await digestWith("/a")).not.toBe(await digestWith("/b"));
    const file = await world.declare("project", { Stop: [group(["./g.sh"])] });
    const { digest } = await world.compile();
    await world.put("project", ".lionagi/settings.yaml", `# moved\n${await readFile(file, "utf8")}`);
    expect((await world.compile()).digest).toBe(digest);
  });

  test("with env: and no name refuses", async () => {
    await world.declare("project", { Stop: [group(["./g.sh"], { env: { A: "env:" } })] });
    expect(await codesOf(world.load())).toEqual(["declaration_invalid"]);
  });
});

describe("a run", () => {
  let place: Place;
  beforeEach(async () => {
    place = await makePlace();
  });
  afterEach(() => place.remove());

  const start = async (entry: Partial<CommandEntry>, env: NodeJS.ProcessEnv = {}) => {
    const { binary } = await createFakeProvider({
      provider: "claude",
      script: { steps: [{ tools: [{ shell: "true" }] }, { text: "done" }] },
      directory: join(place.home, "fakes"),
    });
    const hooks = await compileAgentHooks(
      { PreToolUse: [{ hooks: [{ type: "command", command: ["node"], ...entry }] }] },
      { provider: "claude", cwd: place.cwd, binary, prove: "off" },
    );
    const receipts: object[] = [];
    const run = await spawnAgent({
      hooks,
      prompt: "hello",
      cwd: place.cwd,
      baseEnv: { ...place.env, ...env },
      receiptSink: (line) => void receipts.push(line),
    });
    const events: AgentEvent[] = [];
    for await (const event of run) events.push(event);
    return { result: await run.result, receipts, events };
  };
  const WRITE =
    "require('fs').writeFileSync(process.argv[1], JSON.stringify(process.argv.slice(2)) + process.env.A_TOKEN)";

  test("puts its own directory in the place of {run_dir}, as one word", async () => {
    const seen = join(place.home, "seen");
    await start({ command: ["node", "-e", WRITE, seen, "in {run_dir}/x y"] });
    expect(await readFile(seen, "utf8")).toMatch(/^\["in \/[^"]*\/[0-9a-f-]{36}\/x y"\]/);
  });

  test("reads env:NAME from the supervisor's environment, and hides it when a name says so", async () => {
    const seen = join(place.home, "seen");
    const entry = {
      command: ["node", "-e", `${WRITE}; console.error(process.env.A_TOKEN); process.exit(2)`, seen],
      env: { A_TOKEN: "env:PLAIN" },
    };
    const { receipts, result, events } = await start(entry, { PLAIN: "s3cret-value" });
    expect(await readFile(seen, "utf8")).toBe("[]s3cret-value");
    expect(result.hooks.denied).toBe(1);
    const shown = JSON.stringify([receipts, events.filter(({ type }) => type === "hook")]);
    expect(shown).toContain('"reason":"[redacted]"');
    expect(shown).not.toContain("s3cret-value");
  });

  test("whose env:NAME is not set is refused, and names it, before anything is started", async () => {
    const issues = await issuesOf(start({ command: ["node", "--version"], env: { A: "env:NOT_THERE" } }));
    expect(issues).toMatchObject([
      { code: "placeholder_unset", message: expect.stringContaining("NOT_THERE") },
    ]);
  });
});
