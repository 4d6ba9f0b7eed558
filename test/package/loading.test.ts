// What is loaded to answer, counted: importing the library and asking the command for its version must stay cheap.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";

const DIST = inject("dist");
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NOTE = new URL("./note-loaded.mjs", import.meta.url).href;
const MANIFEST = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-loading-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** `own`: below `dist`. `packages`: the names, once each. `files`: all of them. */
function run(args: readonly string[]) {
  const noted = join(folder, "loaded");
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--import", NOTE, ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: folder, NOTE_LOADED: noted, NO_COLOR: "1" },
    cwd: folder,
    encoding: "utf8",
  });
  const lines = existsSync(noted) ? readFileSync(noted, "utf8").split("\n") : [];
  const files = [...new Set(lines)].filter((line) => line !== "").map((url) => fileURLToPath(url));
  const own = files.filter((path) => path.startsWith(DIST)).map((path) => path.slice(DIST.length + 1));
  const names = files
    .flatMap((path) => path.split("/node_modules/").slice(-1))
    .filter((it) => !it.startsWith("/"));
  const packages = [...new Set(names.map((path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]))];
  return { stdout, stderr, status, files, own: own.sort(), packages: packages.sort() };
}

/** A program, with the names of the public list in scope. */
function runProgram(text: string) {
  const path = JSON.stringify(join(DIST, "index.js"));
  return run(["--input-type=module", "-e", `const bridle = await import(${path});\n${text}`]);
}

describe("the command", () => {
  test.each(["--version", "-V"])("loads no package and three files for %s", (option) => {
    const { stdout, status, own, packages } = run([join(DIST, "cli/main.js"), option]);
    expect([stdout, status]).toEqual([`${MANIFEST.version}\n`, 0]);
    expect(own).toEqual(["cli/exit-codes.js", "cli/main.js", "version.js"]);
    expect(packages).toEqual([]);
  });

  test("loads of the commands the named one alone", () => {
    const { stdout, own, packages } = run([join(DIST, "cli/main.js"), "ps", "--json"]);
    expect(stdout).toBe('{"type":"runs","runs":[]}\n');
    const commands = readdirSync(join(ROOT, "src/cli")).map((file) => `cli/${file.replace(/\.ts$/, ".js")}`);
    const loaded = own.filter((file) => commands.includes(file));
    expect(loaded).toEqual(expect.arrayContaining(["cli/main.js", "cli/program.js", "cli/ps.js"]));
    for (const other of ["run", "prove", "import", "receipts", "doctor"])
      expect(loaded).not.toContain(`cli/${other}.js`);
    expect(packages).not.toContain("yaml");
  });

  test("knows every command for help and for a mistake", () => {
    const { stdout } = run([join(DIST, "cli/main.js"), "--help"]);
    for (const name of ["run", "prove", "trust", "receipts", "recover"])
      expect(stdout).toContain(`\n  ${name} `);
    expect(run([join(DIST, "cli/main.js"), "receits"]).stderr).toContain("Did you mean receipts?");
  });
});

describe("the library", () => {
  test("is imported with few files and no large package", () => {
    const { own, packages, files, stderr } = runProgram("");
    expect(stderr).toBe("");
    expect(packages).toEqual(["eslint-visitor-keys", "toml-eslint-parser", "unbash"]);
    expect(own.length).toBeLessThanOrEqual(75);
    expect(files.length).toBeLessThanOrEqual(100);
  });

  test("loads nothing of OpenTelemetry before it is asked for, with the subpath neither", () => {
    const trace = JSON.stringify(join(DIST, "trace", "index.js"));
    const before = runProgram(`await import(${trace});`);
    expect(before.packages.filter((name) => name?.startsWith("@opentelemetry"))).toEqual([]);
    const after = runProgram(`await (await import(${trace})).openTelemetry();`);
    expect([after.stderr, after.packages.filter((name) => name?.startsWith("@opentelemetry"))]).toEqual([
      "",
      ["@opentelemetry/api"],
    ]);
  });

  test("answers at once what it answers at once, before anything was waited for", () => {
    const { stdout, stderr, packages } = runProgram(`
      const say = (value) => console.log(JSON.stringify(value));
      say(bridle.parseProof("{}").slice(0, 16));
      say(Object.keys(bridle.ENVELOPE_SCHEMAS).length);
      say(bridle.ENVELOPE_SCHEMAS.Stop.safeParse({}).success);
      say(bridle.createSupervisor({ concurrency: 2 }).size);
      try { bridle.createSupervisor({ concurrency: 0 }); } catch (error) { say(error.issues[0].path); }
      try { bridle.explain({}, { cwd: "/" }); } catch (error) { say(error.issues[0].code); }
      say(bridle.compileMatcher("a.c").matches({ tool_name: "abc" }, "tool_name"));
      const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: "ls -l" }] }] };
      const text = JSON.stringify({ hooks });
      const toml = '[[hooks.PreToolUse]]\\n[[hooks.PreToolUse.hooks]]\\ntype = "command"\\ncommand = "ls -l"\\n';
      for (const [kind, provider, source] of [
        ["json", "claude", text], ["toml", "codex", toml], ["frontmatter", "claude", "---\\nhooks: " + JSON.stringify(hooks) + "\\n---\\n"],
      ]) say(bridle.importHooks({ provider, path: "f", text: source, kind }).entries.map(({ entry }) => entry?.command));
    `);
    expect(stderr).toBe("");
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      "is not a proof: ",
      20,
      false,
      0,
      "concurrency",
      "token_forged",
      true,
      [["ls", "-l"]],
      [["ls", "-l"]],
      [null],
    ]);
    expect(packages).toEqual(expect.arrayContaining(["zod", "re2js", "yaml", "jsonc-parser"]));
  });

  test("loads zod once, whatever is asked first after the first wait", () => {
    const { stdout, files } = runProgram(`
      await bridle.compileAgentHooks({ Nope: [] }, { provider: "codex", cwd: "/", path: "" }).catch(() => {});
      console.log(bridle.parseProof("{}").slice(0, 16), bridle.createSupervisor({ concurrency: 2 }).size);
    `);
    expect(stdout).toBe("is not a proof:  0\n");
    const zod = files.filter((path) => path.includes("/node_modules/zod/"));
    expect(zod.length).toBeGreaterThan(10);
    expect(zod.filter((path) => path.endsWith(".cjs"))).toEqual([]);
  });

  test("has what answers with a promise under its name, and a mistake rejects", async () => {
    const late = await import("../../src/late.ts");
    for (const [name, value] of Object.entries(late)) expect(value.name).toBe(name);
    const mistake = late.loadDeclaration(join(folder, "none.yaml"));
    expect(mistake).toBeInstanceOf(Promise);
    await expect(mistake).rejects.toMatchObject({ issues: [{ code: "declaration_invalid" }] });
  });
});

describe("the package", () => {
  const importsOf = (text: string) =>
    [...text.matchAll(/(?:\bfrom |\bimport |\bimport\(|\bload\()"([^".][^"]*)"/g)].map(
      ([, name = ""]) => name,
    );
  const built = readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.m?js$/.test(file),
  );
  const used = new Set(
    built
      .flatMap((file) => importsOf(readFileSync(join(DIST, file), "utf8")))
      .filter((name) => !name.startsWith("node:") && !builtinModules.includes(name))
      .map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/"),
      ),
  );

  test("has ten dependencies at most, and each is used", () => {
    const dependencies = Object.keys(MANIFEST.dependencies);
    expect(dependencies.length).toBeLessThanOrEqual(10);
    expect(dependencies.filter((name) => !used.has(name))).toEqual([]);
  });

  test("uses nothing that is not a dependency or an optional peer", () => {
    const known = new Set(Object.keys({ ...MANIFEST.dependencies, ...MANIFEST.peerDependencies }));
    expect([...used].filter((name) => !known.has(name) && name !== "agent-bridle")).toEqual([]);
  });
});
