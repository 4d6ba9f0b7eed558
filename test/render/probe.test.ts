// What a binary says of itself must be of the provider it is taken for.

import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ownerName } from "../../src/exec/owner-name.ts";
import { recoverRuns } from "../../src/index.ts";
import { probeVersion } from "../../src/render/probe.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";
import { deadOwner } from "../journal/lost-run.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-probe-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function saying(words: string): Promise<string> {
  const path = join(folder, "cli");
  await writeFile(
    path,
    `#!${process.execPath}\n${FAKE_PROVIDER_MARK}\nconsole.log(${JSON.stringify(words)});\n`,
  );
  await chmod(path, 0o755);
  return path;
}

test.each([
  ["claude", "2.1.332 (Claude Code)", "2.1.332"],
  ["codex", "codex-cli 0.171.0", "0.171.0"],
] as const)("%s that says %j is taken", async (provider, words, version) => {
  expect(await probeVersion(provider, await saying(words), { isNamed: true })).toEqual({ version });
});

test.each([
  ["claude", "codex-cli 0.171.0"],
  ["codex", "2.1.332 (Claude Code)"],
  ["claude", "2.1.332"],
  ["codex", "no version"],
] as const)("%s that says %j is refused with what it said", async (provider, words) => {
  await expect(probeVersion(provider, await saying(words), { isNamed: true })).rejects.toMatchObject({
    issues: [{ code: "provider_unsupported", path: "binary", message: expect.stringContaining(words) }],
  });
});

test("one that fails is refused with all that it printed, and one that reads meets the end of its input", async () => {
  const path = await saying("1.2.3 (Claude Code)");
  const reading =
    'process.stdin.resume().once("end", () => { console.error("fault"); process.exitCode = 3; });';
  await writeFile(path, `${await readFile(path, "utf8")}${reading}\n`);
  await expect(probeVersion("claude", path, { isNamed: true })).rejects.toMatchObject({
    issues: [{ message: expect.stringMatching(/"1\.2\.3 \(Claude Code\)\\nfault"$/) }],
  });
});

test("one that cannot be started is refused with why", async () => {
  const path = await saying("1.2.3 (Claude Code)");
  await chmod(path, 0o644);
  await expect(probeVersion("claude", path, { isNamed: true })).rejects.toMatchObject({
    issues: [{ code: "provider_unsupported", message: expect.stringContaining("EACCES") }],
  });
});

test("the home of a probe is named for its process, goes with it, and one that was left goes too", async () => {
  const names = join(folder, "names");
  const path = await saying("codex-cli 1.0.0");
  const told = `require("node:fs").writeFileSync(${JSON.stringify(names)}, process.env.HOME);`;
  await writeFile(path, (await readFile(path, "utf8")).replace("console", `${told}console`));
  const abandoned = join(tmpdir(), `bridle-probe-${deadOwner()}-Ab3xYz`);
  await mkdir(abandoned);
  await probeVersion("codex", path, { isNamed: true });
  const home = await readFile(names, "utf8");
  expect(home).toContain(`${tmpdir()}/bridle-probe-${ownerName()}-`);
  expect([home, abandoned].map((it) => existsSync(it))).toEqual([false, false]);
});

test("recovery removes the homes of killed probes, also through a link, and no others", async () => {
  const link = join(folder, "link");
  await symlink(folder, link);
  const env = { HOME: folder, TMPDIR: link };
  for (const owner of [deadOwner(), ownerName()]) await mkdir(join(folder, `bridle-probe-${owner}-Ab3xYz`));
  await mkdir(join(folder, "bridle-probe-of-somebody-else"));
  await recoverRuns({ env });
  const left = readdirSync(folder).filter((name) => name.startsWith("bridle-probe-"));
  expect(left.sort()).toEqual([`bridle-probe-${ownerName()}-Ab3xYz`, "bridle-probe-of-somebody-else"].sort());
});

test("a temporary folder that is not there is named", async () => {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = join(folder, "nowhere");
  try {
    await expect(
      probeVersion("codex", await saying("codex-cli 1.0.0"), { isNamed: true }),
    ).rejects.toMatchObject({
      issues: [{ code: "option_invalid", path: "TMPDIR" }],
    });
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
});
