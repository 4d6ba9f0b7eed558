// What compileHostHooks fixes, and which of its options it refuses.

import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compileHostHooks, type HostCompileOptions, HostHooks } from "../../src/host/index.ts";
import { echo, play } from "./support.ts";

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "bridle-host-test-")));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const say = (body: string) => ({
  PreToolUse: [{ hooks: [{ type: "command" as const, command: ["/bin/sh", "-c", body] }] }],
});

async function reasonOf(options: HostCompileOptions, body: string): Promise<string> {
  const { host } = play({ hooks: await compileHostHooks(say(body), options) });
  echo(host);
  return ((await host.tools.invoke("Echo", {})) as { reason: string }).reason;
}

test("hooks get no PATH into the project, and no relative one: what they start is not the project's to choose", async () => {
  const inside = join(root, "bin");
  await mkdir(inside);
  await writeFile(join(inside, "tool"), "#!/bin/sh\necho the project\n");
  await chmod(join(inside, "tool"), 0o755);
  const path = ["bin", inside, "/usr/bin", "/bin"].join(":");
  expect(await reasonOf({ cwd: root, path }, 'echo "$PATH" >&2; exit 2')).toBe("/usr/bin:/bin");
});

test("the project's root is its real path, however it was named", async () => {
  await mkdir(join(root, "real"));
  await symlink(join(root, "real"), join(root, "link"));
  expect(await reasonOf({ cwd: join(root, "link") }, 'echo "$CLAUDE_PROJECT_DIR" >&2; exit 2')).toBe(
    join(root, "real"),
  );
});

test.each<[string, object, string]>([
  ["an unknown word for self-tests", { selftest: "requrie" }, 'selftest: unknown value "requrie"'],
  ["a plugin's root that is relative", { pluginRoot: "plugin" }, "pluginRoot: expected an absolute path"],
  ["a root that is a file", { cwd: "/etc/passwd" }, "cwd: /etc/passwd is not a directory"],
  ["no root", { cwd: undefined }, "cwd: expected an absolute path"],
])("%s is refused", async (_name, options, message) => {
  const given = { cwd: root, ...options } as HostCompileOptions;
  await expect(compileHostHooks({}, given)).rejects.toThrow(message);
});

test("self-tests are not run unless they are required", async () => {
  const declaration = {
    PreToolUse: [
      {
        hooks: [
          {
            type: "command" as const,
            command: ["/bin/sh", "-c", "exit 0"],
            selftest: [{ input: { tool_input: { command: "ls" } }, expect: "deny" as const }],
          },
        ],
      },
    ],
  };
  await expect(compileHostHooks(declaration, { cwd: root, selftest: "off" })).resolves.toBeInstanceOf(
    HostHooks,
  );
});

test("a token is frozen, and its prototype too cannot be put in another's place", async () => {
  const hooks = await compileHostHooks({}, { cwd: root });
  expect(Object.isFrozen(hooks)).toBe(true);
  expect(() => Object.setPrototypeOf(hooks, {})).toThrow(TypeError);
  expect(() => play({ hooks: new Proxy(hooks, {}) })).toThrow("token_forged");
});
