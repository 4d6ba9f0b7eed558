import { mkdir, mkdtemp, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { scanAmbient } from "../../src/spawn/ambient.ts";
import { prepareProviderHome, refuseDotEnv } from "../../src/spawn/home.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-home-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const put = async (path: string, content: string) => {
  await mkdir(join(folder, path, ".."), { recursive: true });
  await writeFile(join(folder, path), content);
};

test.each([".env", ".env.local"])("a home that holds %s is refused as run_home_unsafe", async (name) => {
  await put(name, "BASH_ENV=/x");
  expect(() => refuseDotEnv(folder)).toThrow(
    expect.objectContaining({ issues: [expect.objectContaining({ code: "run_home_unsafe" })] }),
  );
});

test("the user's codex login is lent by a link, and nothing else", async () => {
  await put("user/auth.json", "{}");
  await put("user/.env", "BASH_ENV=/x");
  const path = join(folder, "run");
  const env = { CODEX_HOME: join(folder, "user") };
  await prepareProviderHome({ provider: "codex", path, configHome: "user", env });
  expect(await readlink(join(path, "auth.json"))).toBe(join(folder, "user", "auth.json"));
});

test("a home of the run's own has no login", async () => {
  await put("user/auth.json", "{}");
  const path = join(folder, "run");
  const env = { CODEX_HOME: join(folder, "user") };
  await prepareProviderHome({ provider: "codex", path, configHome: "run", env });
  await expect(readlink(join(path, "auth.json"))).rejects.toMatchObject({ code: "ENOENT" });
});

const scan = (
  provider: "claude" | "codex",
  wants: { wantsRules?: boolean; wantsInstructions?: boolean } = {},
) =>
  scanAmbient({
    provider,
    cwd: join(folder, "project"),
    env: { HOME: folder },
    wantsRules: true,
    wantsInstructions: true,
    ...wants,
  });

test("ambient claude hooks are told as dropped, deny and ask rules are copied", async () => {
  const settings = {
    hooks: { PreToolUse: [] },
    permissions: { deny: ["Bash(rm:*)"], ask: ["Edit"], allow: ["Read"] },
  };
  await put(".claude/settings.json", JSON.stringify(settings));
  await mkdir(join(folder, "project"));
  const { findings, denyRules } = await scan("claude");
  expect(denyRules).toEqual({ deny: ["Bash(rm:*)"], ask: ["Edit"] });
  expect(findings.map(({ message }) => message)).toEqual([
    expect.stringContaining("hooks for PreToolUse will not run"),
    expect.stringContaining("1 allow rule(s) do not apply"),
  ]);
});

test("rules that are not wanted are told as dropped", async () => {
  await put(".claude/settings.json", JSON.stringify({ permissions: { deny: ["Bash"] } }));
  const { findings, denyRules } = await scan("claude", { wantsRules: false });
  expect(denyRules.deny).toEqual([]);
  expect(findings).toHaveLength(1);
});

test.each(["{", "[]"])(
  "settings of %j are told as unreadable, because their deny rules are lost",
  async (text) => {
    await put(".claude/settings.json", text);
    expect((await scan("claude")).findings).toMatchObject([{ code: "ambient_unreadable" }]);
  },
);

test("ambient codex hooks are told as dropped", async () => {
  await put(".codex/config.toml", "[hooks]\n");
  await put("project/.codex/hooks.json", "{}");
  expect((await scan("codex")).findings.map(({ message }) => message)).toEqual([
    expect.stringContaining("its hooks will not run"),
    expect.stringContaining("its hooks will not run"),
  ]);
});

test("the project's instructions are passed as text, those of the other provider are not", async () => {
  await put("project/CLAUDE.md", "be kind");
  await put("project/AGENTS.md", "be quick");
  expect([(await scan("claude")).instructions, (await scan("codex")).instructions]).toEqual([
    "be kind",
    "be quick",
  ]);
});

test("instructions that are not wanted are told as dropped", async () => {
  await put("project/CLAUDE.md", "be kind");
  const { instructions, findings } = await scan("claude", { wantsInstructions: false });
  expect(instructions).toBeUndefined();
  expect(findings).toHaveLength(1);
});
