import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { AgentHooksRefused, type LoadedSettings, loadSettings } from "../../src/index.ts";
import { codesOf, group, issuesOf, makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.remove());

const stop = (...words: string[]) => ({ Stop: [group(["node", ...words])] });
const commandsOf = async (options: Parameters<World["load"]>[0] = {}) =>
  ((await world.load(options)).declaration.Stop ?? []).flatMap(({ hooks }) =>
    hooks.map((entry) => (entry.type === "command" ? entry.command[1] : undefined)),
  );

test("user settings, user fragments, project settings, project fragments, plugins run in this order, fragments by name", async () => {
  const files: [Parameters<World["declare"]>[0], string][] = [
    ["plugin", ".lionagi/settings.yaml"],
    ["project", ".lionagi/hooks/b.yaml"],
    ["project", ".lionagi/hooks/a.yaml"],
    ["project", ".lionagi/settings.yaml"],
    ["home", ".lionagi/hooks/z.yaml"],
    ["home", ".lionagi/settings.yaml"],
  ];
  for (const [where, name] of files) await world.declare(where, stop(`${where} ${name.slice(9)}`), name);
  expect(await commandsOf({ plugins: [world.plugin] })).toEqual([
    "home settings.yaml",
    "home hooks/z.yaml",
    "project settings.yaml",
    "project hooks/a.yaml",
    "project hooks/b.yaml",
    "plugin settings.yaml",
  ]);
});

test("each entry has its file, line, tier, source and folder", async () => {
  const text = [
    "# comment",
    "other: { kept: true }",
    "hooks_external:",
    "  Stop:",
    "    - hooks:",
    "        - type: command",
    "          command: [node, a]",
    "        - { type: command, command: [node, b], source: imported:codex }",
    "",
  ].join("\n");
  const file = await world.put("project", ".lionagi/settings.yaml", text);
  const { origins } = await world.load();
  const common = { file, home: world.home, root: world.project, projectRoot: world.project };
  expect([...origins.values()]).toEqual([
    { ...common, line: 6, tier: "project" },
    { ...common, line: 8, tier: "imported", source: "imported:codex" },
  ]);
});

test("two entries that are one by an alias have an origin each", async () => {
  await world.put(
    "project",
    ".lionagi/settings.yaml",
    "hooks_external:\n  Stop:\n    - hooks:\n        - &a { type: command, command: [node] }\n        - *a\n",
  );
  expect((await world.load()).origins.size).toBe(2);
});

test("an entry behind an alias has the line where it is written", async () => {
  const text =
    "hooks_external:\n  Stop: &all\n    - hooks:\n        - { type: command, command: [node] }\n  SubagentStop: *all\n";
  await world.put("project", ".lionagi/settings.yaml", text);
  expect([...(await world.load()).origins.values()].map(({ line }) => line)).toEqual([4, 4]);
});

test("whatever a file says, it is loaded with an origin for each entry, or refused", async () => {
  const entry = fc.oneof(
    fc.constant({ type: "command", command: ["node"] }),
    fc.record({ type: fc.constant("command"), command: fc.array(fc.string()), source: fc.string() }),
    fc.jsonValue(),
  );
  const groups = fc.array(fc.record({ hooks: fc.array(entry, { minLength: 1 }) }), { minLength: 1 });
  const root = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom("Stop", "PreToolUse", "agent_exit"), groups),
  );
  await fc.assert(
    fc.asyncProperty(root, fc.boolean(), async (hooks, asFragment) => {
      const name = asFragment ? ".lionagi/hooks/a.yaml" : ".lionagi/settings.yaml";
      const file = await world.put("project", name, stringify({ hooks_external: hooks }));
      const loaded = await world.load().catch((error: unknown) => error);
      await rm(file);
      if (loaded instanceof Error) expect(loaded).toBeInstanceOf(AgentHooksRefused);
      else {
        const { declaration, origins } = loaded as LoadedSettings;
        const entries = Object.values(declaration).flatMap((groups) => groups.flatMap(({ hooks }) => hooks));
        expect(entries.every((one) => (origins.get(one)?.line ?? 0) > 0)).toBe(true);
        expect(origins.size).toBe(entries.length);
      }
    }),
    { numRuns: 300 },
  );
});

test("no file at all is an empty declaration", async () => {
  const { declaration, origins, files } = await world.load();
  expect([{ ...declaration }, origins.size, files]).toEqual([{}, 0, []]);
});

test("a settings file without hooks is fine, a fragment without is not", async () => {
  await world.put("project", ".lionagi/settings.yaml", "model: x\n");
  expect((await world.load()).origins.size).toBe(0);
  await world.put("project", ".lionagi/hooks/a.yaml", "model: x\n");
  expect(await codesOf(world.load())).toEqual(["declaration_invalid"]);
});

test("problems of every file are told together", async () => {
  await world.put("home", ".lionagi/settings.yaml", "hooks_external: { Nope: [] }\n");
  await world.put("project", ".lionagi/settings.yaml", "hooks_external: [\n");
  expect(await codesOf(world.load())).toEqual(
    expect.arrayContaining(["event_unknown", "declaration_invalid"]),
  );
});

describe("nothing is left out without a word:", () => {
  test("a fragment that ends in .yml is refused", async () => {
    await world.declare("project", stop(), ".lionagi/hooks/a.yml");
    expect((await issuesOf(world.load()))[0]?.path).toMatch(/a\.yml$/);
  });

  test.each([".lionagi/settings.yaml", ".lionagi/hooks/a.yaml"])(
    "%s that is a link to nothing is refused",
    async (name) => {
      await mkdir(join(world.project, ".lionagi/hooks"), { recursive: true });
      await symlink(join(world.root, "none"), join(world.project, name));
      expect(await codesOf(world.load())).toEqual(["declaration_invalid"]);
    },
  );

  test("a folder in the place of a file is refused", async () => {
    await mkdir(join(world.project, ".lionagi/hooks/a.yaml"), { recursive: true });
    expect(await codesOf(world.load())).toEqual(["declaration_invalid"]);
  });

  test.each(["PreToolUse: []\n", "hooks: { PreToolUse: [] }\n", "hooks: [{ hooks: [] }]\n"])(
    "hooks that stand in the wrong place are refused (%j)",
    async (text) => {
      await world.put("project", ".lionagi/settings.yaml", text);
      expect(await codesOf(world.load())).toEqual(["declaration_invalid"]);
    },
  );

  test("a script or a note beside the fragments is no fragment", async () => {
    await world.guard("project", ".lionagi/hooks/g.sh");
    await world.put("project", ".lionagi/hooks/imported/x.sh", "");
    expect((await world.load()).files).toEqual([]);
  });

  test("a link to a folder beside the fragments is not followed, also not to itself", async () => {
    await world.declare("project", stop("a"), ".lionagi/hooks/a.yaml");
    await mkdir(join(world.root, "elsewhere"));
    await writeFile(join(world.root, "elsewhere/b.yaml"), "hooks_external: {}\n");
    await symlink(".", join(world.project, ".lionagi/hooks/loop"));
    await symlink(join(world.root, "elsewhere"), join(world.project, ".lionagi/hooks/elsewhere"));
    expect(await commandsOf()).toEqual(["a"]);
  });
});

describe("the project", () => {
  test("is found from a folder in it, and its words are resolved there", async () => {
    await world.guard("project", "g.sh");
    await world.declare("project", { Stop: [group(["./g.sh", "{project_dir}"])] });
    const below = join(world.project, "a/b");
    await mkdir(below, { recursive: true });
    const { projectRoot } = await world.load({ cwd: below });
    expect(projectRoot).toBe(world.project);
    const { entries, projectRoot: compiledFor } = await world.plan({ cwd: below });
    expect(entries).toMatchObject([{ argv: [join(world.project, "g.sh"), world.project] }]);
    expect(compiledFor).toBe(world.project);
  });

  test("has the hooks of each folder down to the working directory, outermost first: one inside hides nothing", async () => {
    await world.declare("project", stop("outer"));
    await world.declare("project", stop("inner"), "packages/a/.lionagi/settings.yaml");
    await world.declare("project", stop("other"), "packages/b/.lionagi/settings.yaml");
    const cwd = join(world.project, "packages/a");
    expect(await commandsOf({ cwd })).toEqual(["outer", "inner"]);
    expect((await world.load({ cwd })).projectRoot).toBe(world.project);
  });

  test("ends at its repository's root: what is above is another's", async () => {
    await mkdir(join(world.root, ".lionagi"));
    await writeFile(join(world.root, ".lionagi/settings.yaml"), "hooks_external: { Nope: [] }\n");
    expect((await world.load()).files).toEqual([]);
  });

  test("without a repository is the folder itself", async () => {
    await rm(join(world.project, ".git"), { recursive: true });
    await world.declare("project", stop("a"));
    const below = join(world.project, "a");
    await mkdir(below);
    expect([await commandsOf(), await commandsOf({ cwd: below })]).toEqual([["a"], []]);
  });

  test("that is the home has its hooks once, and they are the user's", async () => {
    await world.declare("home", stop("a"));
    const { origins } = await loadSettings({ cwd: world.home, home: world.home });
    expect([...origins.values()].map(({ tier }) => tier)).toEqual(["user"]);
  });

  test("a cwd that is not there is refused", async () => {
    expect(await codesOf(world.load({ cwd: join(world.root, "none") }))).toEqual(["option_invalid"]);
  });
});

test("a user's relative words are resolved against the home, not against a project", async () => {
  await world.guard("home", "g.sh");
  await world.guard("project", "g.sh");
  await world.declare("home", { Stop: [group(["./g.sh"])] });
  expect((await world.plan()).entries).toMatchObject([{ argv: [join(world.home, "g.sh")] }]);
});
