// A call passes only while the fence of its workspace is exactly the run's own.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fencePath, readFence, writeFence } from "../../src/hooks/fence-file.ts";
import { fencedWorkspace } from "../../src/hooks/index.ts";
import { buildEnvelope } from "../../src/index.ts";

let workspace: string;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "bridle-fence-")));
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

async function ask(token = 7, attempt = "mine"): Promise<string | undefined> {
  const { handler } = fencedWorkspace({ workspace, token, attempt });
  const envelope = buildEnvelope("PreToolUse", {}, { cwd: workspace });
  const answer = await handler(envelope, { signal: new AbortController().signal });
  return answer === undefined ? undefined : JSON.stringify(answer);
}

test("its own fence lets calls through", async () => {
  await writeFence(fencePath(workspace), { token: 7, attempt: "mine" });
  expect(await ask()).toBeUndefined();
});

test.each([
  [
    "a higher one",
    { token: 8, attempt: "other" },
    "another attempt has taken over this workspace (fence 8, this run has 7)",
  ],
  ["a lower one", { token: 6, attempt: "mine" }, "was changed"],
  ["another's of the same number", { token: 7, attempt: "other" }, "was changed"],
])("%s denies", async (_what, fence, message) => {
  await writeFence(fencePath(workspace), fence);
  expect(await ask()).toContain(message);
});

test("no fence denies, and so does what is none", async () => {
  expect(await ask()).toContain("is gone");
  for (const text of [
    "",
    "7",
    '{"token":7}',
    '{"token":"7","attempt":"mine"}',
    '{"token":1e99,"attempt":"mine"}',
  ]) {
    writeFileSync(fencePath(workspace), text);
    expect(await ask()).toContain("holds no fence");
  }
  rmSync(fencePath(workspace));
  symlinkSync("/etc/hostname", fencePath(workspace));
  expect(await ask()).toContain("is no file of ours");
});

test("a link in its place is replaced, not followed", async () => {
  const victim = join(workspace, "victim");
  writeFileSync(victim, "precious");
  symlinkSync(victim, fencePath(workspace));
  await writeFence(fencePath(workspace), { token: 1, attempt: "mine" });
  expect([readFileSync(victim, "utf8"), readFence(fencePath(workspace))]).toEqual([
    "precious",
    { token: 1, attempt: "mine" },
  ]);
});

describe("in a repository", () => {
  const git = (...words: string[]) => execFileSync("git", ["-C", workspace, ...words], { encoding: "utf8" });

  test("it makes nothing dirty, in the root, in a folder below and in a worktree", async () => {
    git("init", "-q");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first");
    mkdirSync(join(workspace, "below"));
    const places = [workspace, join(workspace, "below")];
    for (const place of places) await writeFence(fencePath(place), { token: 1, attempt: "mine" });
    expect(new Set(places.map(fencePath)).size).toBe(2);
    expect(git("status", "--porcelain", "--untracked-files=all")).toBe("");
    const tree = `${workspace}-tree`;
    git("worktree", "add", "-q", tree);
    try {
      await writeFence(fencePath(tree), { token: 1, attempt: "mine" });
      expect(execFileSync("git", ["-C", tree, "status", "--porcelain"], { encoding: "utf8" })).toBe("");
      expect(places.map(fencePath)).not.toContain(fencePath(tree));
    } finally {
      rmSync(tree, { recursive: true, force: true });
    }
  });

  test("a .git file that names a folder that is no repository is not followed", () => {
    const elsewhere = join(workspace, "elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(workspace, ".git"), `gitdir: ${elsewhere}\n`);
    expect(fencePath(workspace)).toBe(join(workspace, ".bridle-fence"));
    expect(existsSync(join(elsewhere, "bridle-fence"))).toBe(false);
  });
});

test.each([
  [{ workspace: "work", token: 1, attempt: "a" }, "workspace"],
  [{ workspace: "/w", token: 0, attempt: "a" }, "token"],
  [{ workspace: "/w", token: 1, attempt: "" }, "attempt"],
  [{ workspace: "/w", token: 1, attempt: "a", more: 1 }, "more"],
])("%j is no option", (options, name) => {
  expect(() => fencedWorkspace(options)).toThrow(name);
});
