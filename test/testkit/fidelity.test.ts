// Fakes beside the streams that were captured from the real CLIs: the same situation gives lines of the same kinds in the same order,
// and the same events to Bridle's parsers.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Provider } from "../../src/index.ts";
import type { JsonObject } from "../../src/json.ts";
import { adapterFor } from "../../src/render/registry.ts";
import type { FakeScript } from "../../src/testkit/index.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-fidelity-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const captured = (provider: Provider, name: string) =>
  readFileSync(
    fileURLToPath(new URL(`../render/${provider}/captured/${name}.jsonl`, import.meta.url)),
    "utf8",
  );

async function printed(provider: Provider, script: FakeScript, argv: readonly string[]) {
  const file = join(folder, "script.json");
  await writeFile(file, JSON.stringify(script));
  const binary = fileURLToPath(new URL(`../../src/testkit/fake-${provider}.mjs`, import.meta.url));
  const env = { ...process.env, BRIDLE_FAKE_SCRIPT: file };
  return spawnSync(binary, argv, { cwd: folder, env, input: "go", encoding: "utf8" }).stdout;
}

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

/** What kind of line it is, without ids and texts. */
function kindOf(line: string): string {
  const {
    type,
    subtype,
    tag,
    item,
    message,
    terminal_reason: reason,
  } = JSON.parse(line) as Record<string, JsonObject>;
  const content = message?.content as JsonObject[] | undefined;
  const parts = [
    type,
    subtype,
    tag,
    reason,
    item?.type,
    item?.status,
    content?.[0]?.type,
    content?.[0]?.is_error,
  ];
  return parts.filter((part) => part !== undefined).join(" ");
}

/** What Bridle reads of it, without ids, texts and counts. */
function eventsOf(provider: Provider, text: string) {
  const parser = adapterFor(provider).createStreamParser();
  return linesOf(text)
    .flatMap((line) => parser.push(line))
    .map((event) => {
      const {
        type,
        denied,
        ran,
        isError,
        status,
        event: hook,
        exitCode,
        noVerdict,
        name,
        role,
      } = event as unknown as JsonObject;
      return { type, denied, ran, isError, status, hook, exitCode, noVerdict, name, role };
    });
}

const call = (command: string): FakeScript => ({
  steps: [{ tools: [{ shell: command }] }, { text: "done" }],
});

describe("claude", () => {
  const hook = (event: string, command: string) =>
    `--settings=${JSON.stringify({ hooks: { [event]: [{ hooks: [{ type: "command", command }] }] } })}`;
  const cases: [string, FakeScript, string[]][] = [
    ["deny", call("touch ran.txt"), [hook("PreToolUse", "echo no touch >&2; exit 2")]],
    ["failing-command", call("cat /nonexistent"), []],
    ["no-verdict", call("touch ran.txt"), [hook("PreToolUse", "exit 127")]],
    ["blocked-prompt", call("touch ran.txt"), [hook("UserPromptSubmit", "echo not today >&2; exit 2")]],
  ];
  test.each(cases)("%s", async (name, script, argv) => {
    const flags = ["-p", "--output-format=stream-json", "--verbose", "--include-hook-events"];
    const fake = await printed("claude", script, [...flags, ...argv]);
    const real = captured("claude", name);
    expect(linesOf(fake).map(kindOf)).toEqual(linesOf(real).map(kindOf));
    expect(eventsOf("claude", fake)).toEqual(eventsOf("claude", real));
  });
});

describe("codex", () => {
  const cases: [string, FakeScript][] = [
    ["ok", call("touch ran.txt")],
    ["failing", call("cat /nonexistent")],
    ["patch", { steps: [{ tools: [{ write: { path: "a.txt", content: "a\n" } }] }, { text: "done" }] }],
    ["failed-turn", { steps: [], sins: ["fail-turn"] }],
    ["blocked-prompt", { steps: [], sins: ["report-prompt-block"] }],
  ];
  test.each(cases)("%s", async (name, script) => {
    const fake = await printed("codex", script, ["exec", "--json", "--skip-git-repo-check", "-"]);
    const real = captured("codex", name);
    expect(linesOf(fake).map(kindOf)).toEqual(linesOf(real).map(kindOf));
    expect(eventsOf("codex", fake)).toEqual(eventsOf("codex", real));
  });
});
