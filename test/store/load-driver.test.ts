// better-sqlite3 is an optional peer: nothing but the store needs it, and the store says what is missing.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DIST, makeFolder } from "./support.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let folder: Awaited<ReturnType<typeof makeFolder>>;
beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => folder.remove());

/** What a program prints that opens a store from a folder of built sources. */
function openIn(dist: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = `
    const { openReceiptStore } = await import(${JSON.stringify(join(dist, "store", "index.js"))});
    try {
      (await openReceiptStore({ path: ${JSON.stringify(join(folder.path, "x.sqlite"))} })).close();
      console.log("opened");
    } catch (error) {
      console.log(JSON.stringify(error.issues));
    }`;
  return new Promise((resolve) => {
    execFile(process.execPath, [...args, "--input-type=module", "-e", program], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

/** Built sources where no package is found but the given one. */
function standAlone(version?: string, main = ""): string {
  const at = join(folder.path, "package");
  cpSync(DIST, join(at, "dist"), { recursive: true });
  writeFileSync(join(at, "package.json"), '{"type":"module"}');
  if (version !== undefined) {
    const driver = join(at, "node_modules", "better-sqlite3");
    mkdirSync(driver, { recursive: true });
    writeFileSync(
      join(driver, "package.json"),
      JSON.stringify({ name: "better-sqlite3", version, main: "main.cjs" }),
    );
    writeFileSync(join(driver, "main.cjs"), main);
  }
  return join(at, "dist");
}

test("the store opens with the driver that is installed", async () => {
  expect(await openIn(DIST)).toEqual({ code: 0, stdout: "opened\n", stderr: "" });
});

test("a driver that no resolver finds is told by its name and version", async () => {
  const hooks = `export function resolve(specifier, context, next) {
    if (specifier !== "better-sqlite3") return next(specifier, context);
    throw Object.assign(new Error("Cannot find package 'better-sqlite3'"), { code: "ERR_MODULE_NOT_FOUND" });
  }`;
  const register = `import { register } from "node:module"; register("data:text/javascript,${encodeURIComponent(hooks)}");`;
  const { stdout } = await openIn(DIST, "--import", `data:text/javascript,${encodeURIComponent(register)}`);
  expect(JSON.parse(stdout)).toEqual([
    {
      code: "store_unavailable",
      path: "better-sqlite3",
      message: expect.stringContaining("it is not installed"),
      hint: expect.stringContaining("npm install better-sqlite3@12"),
    },
  ]);
});

test("where it is not installed at all, the same is told", async () => {
  const { stdout } = await openIn(standAlone());
  expect(JSON.parse(stdout)).toMatchObject([
    {
      message: expect.stringContaining("it is not installed"),
      hint: expect.stringContaining("better-sqlite3@12"),
    },
  ]);
});

test("a driver of another major version is not even loaded", async () => {
  const { code, stdout } = await openIn(standAlone("13.2.0", "process.abort()"));
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([
    { code: "store_unavailable", message: "version 13.2.0 is installed, and version 12 is needed" },
  ]);
});

test("a driver whose native part does not load is told, with what to do", async () => {
  const main =
    "module.exports = class { constructor() { throw new Error('was compiled against another Node'); } };";
  const { stdout } = await openIn(standAlone("12.0.0", main));
  expect(JSON.parse(stdout)).toMatchObject([
    {
      code: "store_unavailable",
      message: expect.stringContaining("was compiled against another Node"),
      hint: expect.stringContaining("npm rebuild better-sqlite3"),
    },
  ]);
});

test("nothing else imports the driver, nothing imports the store but its tests and, when it must, the CLI, and the loader is lent to fan-outs", () => {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const using = (pattern: RegExp) =>
    files.filter((name) => pattern.test(readFileSync(join(root, "src", name), "utf8"))).sort();
  expect(using(/(?:from|import\(|require\w*\(?.*\)\()\s*"better-sqlite3/)).toEqual(["store/load-driver.ts"]);
  expect(using(/^(?:import|export) (?!type ).*from ".*\/store\//m)).toEqual(["fanout/open-state.ts"]);
});

test("agent-bridle/store is published, its types are free of the driver's, and the peer is optional and below 13", () => {
  const { exports, peerDependencies, peerDependenciesMeta, dependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const { types, default: code } = exports["./store"];
  for (const file of [types, code]) readFileSync(join(DIST, "..", file));
  expect(peerDependencies["better-sqlite3"]).toBe("^12");
  expect(peerDependenciesMeta["better-sqlite3"]).toEqual({ optional: true });
  expect(dependencies["better-sqlite3"]).toBeUndefined();
  for (const name of ["index", "open-receipt-store", "filters", "migrations"])
    expect(readFileSync(join(DIST, "store", `${name}.d.ts`), "utf8")).not.toMatch(
      /load-driver|"better-sqlite3"/,
    );
});
