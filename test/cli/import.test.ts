// The command as a process: output, exit codes, and twenty of them at once.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";
import { DIST } from "../journal/support.ts";

let project: string;
beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), "bridle-import-cli-"));
  await mkdir(join(project, ".git"));
});
afterEach(() => rm(project, { recursive: true, force: true }));

async function bridle(args: readonly string[]) {
  const child = spawn(process.execPath, [join(DIST, "cli", "main.js"), "import", ...args], {
    cwd: project,
    env: { PATH: "/usr/bin:/bin", HOME: join(project, "home") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "close"),
  ]);
  return { code: code as number, stdout, stderr };
}

const settings = () => join(project, ".lionagi", "settings.yaml");
const fileWith = (...commands: string[]) =>
  JSON.stringify({ hooks: { Stop: [{ hooks: commands.map((command) => ({ type: "command", command })) }] } });

test.each([
  ["all imported", fileWith("ls"), 0, "1 entry: 1 imported, 0 rejected, 0 noted"],
  ["one rejected", fileWith("ls", "a | b"), 1, "2 entries: 1 imported, 1 rejected, 0 noted"],
  ["no hooks", "{}", 0, "0 entries found"],
  ["no JSON", "{", 2, "1 file(s) cannot be read"],
])("%s", async (_, content, code, told) => {
  await writeFile(join(project, "f.json"), content);
  const ended = await bridle(["claude", "f.json"]);
  expect(ended).toMatchObject({ code, stderr: "" });
  expect(ended.stdout).toContain(told);
  expect(existsSync(settings())).toBe(false);
});

test("--json prints one object with every entry", async () => {
  await writeFile(join(project, "f.json"), fileWith("ls", "a | b"));
  const { code, stdout } = await bridle(["claude", "f.json", "--json", "--write"]);
  expect(code).toBe(1);
  expect(stdout.trim().split("\n")).toHaveLength(1);
  expect(JSON.parse(stdout)).toMatchObject({
    type: "import",
    write: true,
    provider: "claude",
    target: settings(),
    written: [settings()],
    counts: { entries: 2, imported: 1, rejected: 1, note: 0, errors: 0 },
    files: [
      {
        entries: [
          { verdict: "imported", line: 1 },
          { verdict: "rejected", reason: "a pipe needs a shell" },
        ],
      },
    ],
  });
});

test("an unknown agent is a usage error, a malformed target a refusal with its place", async () => {
  expect(await bridle(["gemini"])).toMatchObject({ code: 64 });
  await mkdir(join(project, ".lionagi"));
  await writeFile(settings(), "a: [\n");
  await writeFile(join(project, "f.json"), fileWith("ls"));
  const ended = await bridle(["claude", "f.json", "--write"]);
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("settings.yaml:2") });
  expect(readFileSync(settings(), "utf8")).toBe("a: [\n");
});

test("twenty processes that write at once lose no entry", async () => {
  const commands = Array.from({ length: 20 }, (_, index) => [`tool-${index}`, `both-${index % 5}`]);
  await Promise.all(
    commands.map((pair, index) => writeFile(join(project, `f${index}.json`), fileWith(...pair))),
  );
  const ended = await Promise.all(
    commands.map((_, index) => bridle(["claude", `f${index}.json`, "--write"])),
  );
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(Array(20).fill([0, ""]));
  const groups = parse(readFileSync(settings(), "utf8")).hooks_external.Stop as {
    hooks: { command: string[] }[];
  }[];
  const written = groups.map(({ hooks }) => hooks[0]?.command[0] ?? "");
  expect(written.sort()).toEqual([...new Set(commands.flat())].sort());
  expect(readdirSync(join(project, ".lionagi"))).toEqual(["settings.yaml"]);
}, 240_000);

/** The sources may be where only root can go: a dry run loads them first, then the user is changed. */
const AS_ANOTHER = `
const { importFiles } = await import(process.argv[1]);
await importFiles({ provider: "claude", paths: ["f.json"] });
process.setgroups([]);
process.setegid(65534);
process.seteuid(65534);
await importFiles({ provider: "claude", paths: ["f.json"], write: true }).then(
  () => console.log("written"),
  (error) => console.log(error.message),
);
`;

test.runIf(process.getuid?.() === 0)(
  "a target that may not be written loses nothing, and is told",
  async () => {
    await mkdir(join(project, ".lionagi"));
    await writeFile(settings(), "a: 1\n");
    await writeFile(join(project, "f.json"), fileWith("ls"));
    await chmod(project, 0o755);
    const args = ["--input-type=module", "-e", AS_ANOTHER, join(DIST, "index.js")];
    const run = () => execFileSync(process.execPath, args, { cwd: project, encoding: "utf8" });

    expect(run()).toContain("EACCES");
    await chown(join(project, ".lionagi"), 65_534, 65_534);
    expect(run()).toContain("belongs to uid 0");
    expect(readFileSync(settings(), "utf8")).toBe("a: 1\n");
    expect(readdirSync(join(project, ".lionagi"))).toEqual(["settings.yaml"]);
  },
);
