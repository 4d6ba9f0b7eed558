// On which terms hooks run, as check, explain and list tell it.

import { execFile } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";
import { DIST, makeFolder } from "../store/support.ts";

let folder: Awaited<ReturnType<typeof makeFolder>>;
beforeEach(async () => {
  folder = await makeFolder();
  await mkdir(join(folder.path, "project"));
  const binary = `#!${process.execPath}\n${FAKE_PROVIDER_MARK}\nconsole.log("2.1.332+fake (Claude Code)");\n`;
  await writeFile(join(folder.path, "claude"), binary);
  await chmod(join(folder.path, "claude"), 0o755);
});
afterEach(() => folder.remove());

async function bridle(command: string, declaration: object) {
  const file = join(folder.path, "project", "hooks.json");
  await writeFile(file, JSON.stringify({ hooks_external: declaration }));
  const agent = ["--provider", "claude", "--binary", join(folder.path, "claude"), "--prove", "off"];
  const args = [command, file, ...(command === "list" ? [] : agent)];
  const env = { PATH: process.env.PATH, HOME: folder.path, XDG_STATE_HOME: folder.path, NO_COLOR: "1" };
  return new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [join(DIST, "cli", "main.js"), ...args],
      { env, cwd: folder.path },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    );
  });
}

const hook = { type: "command", command: ["true"], timeout: 5 };

describe.each(["check", "explain", "list"])("%s", (command) => {
  test("tells where, once, and what a failure means", async () => {
    const where = { tool_input: { command: { $contains: "push\u001b[2J" } } };
    const stdout = await bridle(command, {
      PreToolUse: [{ matcher: "Bash", where, hooks: [{ ...hook, once: true }] }],
    });
    expect(stdout).toContain("Bash");
    expect(stdout).toContain('where {"tool_input":{"command":{"$contains":"push');
    expect(stdout).toContain("5000 ms, on_failure closed, once");
    expect(stdout).not.toContain("\u001b");
  });

  test("says of an async hook that it decides nothing, and nothing of on_failure", async () => {
    const stdout = await bridle(command, { PostToolUse: [{ hooks: [{ ...hook, async: true }] }] });
    expect(stdout).toContain("5000 ms, async, decides nothing");
    expect(stdout).not.toContain("on_failure");
  });

  test("says of a guard that stays that it is persistent", async () => {
    const stdout = await bridle(command, { PreToolUse: [{ hooks: [{ ...hook, persistent: true }] }] });
    expect(stdout).toContain("5000 ms, on_failure closed, persistent");
  });

  test("says of a hook that waits for nothing neither async nor once", async () => {
    const stdout = await bridle(command, { PreToolUse: [{ hooks: [{ ...hook, on_failure: "open" }] }] });
    expect(stdout).toMatch(/5000 ms, on_failure open(?!, once)/);
    expect(stdout).not.toMatch(/async|persistent|where \{/);
  });
});
