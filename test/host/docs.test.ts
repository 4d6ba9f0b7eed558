// Holds docs/HOST.md and the examples to the code.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import * as publicList from "../../src/host/index.ts";
import { WORLD_DIVERGENCES } from "../differential/divergences.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs", "HOST.md"), "utf8");

afterEach(() => {
  vi.restoreAllMocks();
});

async function output(example: string): Promise<string[]> {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  await import(pathToFileURL(join(root, "examples", example)).href);
  return lines;
}

test("examples/host-loop.ts runs offline: one call is admitted, one is denied, and the loop ends", async () => {
  const lines = await output("host-loop.ts");
  expect(lines).toContain('mcp__files__read → {"content":[{"type":"text","text":"a.txt: hello"}]}');
  expect(lines).toContain("mcp__files__remove → mcp__files__remove was denied: files stay");
  expect(lines.at(-1)).toBe("I read a.txt and left it where it is.");
});

test("examples/both-worlds.ts: one declaration denies in a spawned codex and in process", async () => {
  expect(await output("both-worlds.ts")).toEqual([
    "codex: denied, nothing is created here",
    "in process: denied, nothing is created here",
    "created: nothing",
  ]);
});

test("the page names every event, every divergence of the worlds, and every public function", () => {
  for (const event of publicList.HOST_EVENTS) expect(page).toContain(`\`${event}\``);
  for (const { id, why } of WORLD_DIVERGENCES) expect(page).toContain(`| ${id} | ${why} |`);
  const told = ["createHookHost", "compileHostHooks", "describeForModel", "noOrigin", "HookExecutionError"];
  const adapters = ["lspTools", "subAgentTool", "compositeTool"];
  const answers = ["deny", "ask", "rewrite", "addContext", "retry"];
  for (const name of [...told, ...adapters, ...answers]) {
    expect(publicList).toHaveProperty(name);
    expect(page).toContain(name);
  }
});
