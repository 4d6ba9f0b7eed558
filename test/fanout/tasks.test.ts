// Tasks from files: what is read, and how each mistake is told with its line.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { readTasks } from "../../src/fanout/read-tasks.ts";
import { checkTasks, digestTasks, type TaskDefaults } from "../../src/fanout/task.ts";
import { fillTemplate } from "../../src/fanout/template.ts";
import type { AgentHooksRefused } from "../../src/index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bridle-tasks-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const defaults = (): TaskDefaults => ({ cwd: folder, provider: "claude" });

async function check(name: string, text: string | Buffer, more: Partial<TaskDefaults> = {}) {
  writeFileSync(join(folder, name), text);
  try {
    return checkTasks(await readTasks(join(folder, name)), { ...defaults(), ...more });
  } catch (error) {
    return { specs: [], issues: (error as AgentHooksRefused).issues };
  }
}

const told = ({ issues }: Awaited<ReturnType<typeof check>>) =>
  issues.map(({ path, message }) => `${path}: ${message}`);

describe("files of tasks", () => {
  it.each([
    ["t.jsonl", '{"id":"a","prompt":"p","maxSeconds":5}\n\n{"prompt":"q","worktree":true}\n'],
    ["t.yaml", "- id: a\n  prompt: p\n  maxSeconds: 5\n- prompt: q\n  worktree: true\n"],
    ["t.yml", "tasks:\n  - { id: a, prompt: p, maxSeconds: 5 }\n  - { prompt: q, worktree: true }\n"],
    ["t.json", '[{"id":"a","prompt":"p","maxSeconds":5},{"prompt":"q","worktree":true}]'],
    ["t.csv", "id,prompt,maxSeconds,worktree\na,p,5,\n,q,,true\n"],
  ])("%s", async (name, text) => {
    const { specs, issues } = await check(name, text);
    expect(issues).toEqual([]);
    const shared = { cwd: folder, provider: "claude" };
    expect(specs).toEqual([
      { index: 0, id: "a", prompt: "p", maxSeconds: 5, worktree: false, ...shared },
      { index: 1, id: "1", prompt: "q", worktree: true, ...shared },
    ]);
  });

  test("every line that is no task is told", async () => {
    expect(told(await check("t.jsonl", '{"prompt":"p"}\n{oops\n[1]\n{"a"\n'))).toEqual([
      expect.stringMatching(/^t\.jsonl:2: is no JSON: /),
      expect.stringMatching(/^t\.jsonl:4: is no JSON: /),
    ]);
    expect(told(await check("t.jsonl", '[1]\n"x"\n'))).toEqual([
      "t.jsonl:1: expected a task, got [1]",
      't.jsonl:2: expected a task, got "x"',
    ]);
  });

  test("mistakes are told by line, field and value, all at once", async () => {
    const lines = [
      { prompt: " " },
      { prompt: "p", maxTurns: 0, worktree: "yes" },
      { prompt: "p", provider: "gemini" },
      { prompt: "p", cwd: "nowhere" },
      { prompt: "p", MaxTurns: 3 },
      { prompt: "p", promt: "x" },
    ];
    const text = lines.map((line) => JSON.stringify(line)).join("\n");
    expect(told(await check("t.jsonl", text))).toEqual([
      't.jsonl:1 prompt: expected text, got " "',
      't.jsonl:2 worktree: expected true or false, got "yes"',
      "t.jsonl:2 maxTurns: expected a whole number, above 0, got 0",
      't.jsonl:3 provider: "gemini" is none',
      `t.jsonl:4 cwd: ${JSON.stringify(join(folder, "nowhere"))} is no directory`,
      "t.jsonl:5 MaxTurns: is no field of a task, and the template does not use it",
      "t.jsonl:6 promt: is no field of a task, and the template does not use it",
    ]);
  });

  test("in YAML and CSV too", async () => {
    expect(told(await check("t.yaml", "- prompt: p\n- prompt: q\n  maxSeconds: soon\n"))).toEqual([
      't.yaml:2 maxSeconds: expected seconds, above 0 and at most 2147483, got "soon"',
    ]);
    expect(told(await check("t.yaml", "- prompt: p\n  prompt: q\n"))).toEqual([
      expect.stringContaining("t.yaml:2: "),
    ]);
    expect(told(await check("t.csv", 'prompt,maxTurns\n"two\nlines",1\np,many\np\n'))).toEqual([
      "t.csv:5: has 1 cell(s), and the head has 2",
    ]);
    expect(told(await check("t.csv", 'prompt,maxTurns\n"two\nlines",1\np,many\n'))).toEqual([
      't.csv:4 maxTurns: expected a whole number, above 0, got "many"',
    ]);
    expect(told(await check("t.csv", "a,a\n1,2\n"))).toEqual(['t.csv:1: two columns are named "a"']);
  });

  it.each([
    ["t.txt", "x", "it cannot be told what it is"],
    ["t.jsonl", Buffer.from([0x7b, 0xff, 0x7d]), "is no UTF-8"],
    ["t.jsonl", "\n", "there is no task"],
    ["t.yaml", "a: 1\n", "expected a list of tasks"],
  ])("%s: %j is refused", async (name, text, word) => {
    expect(told(await check(name, text))).toEqual([expect.stringContaining(word)]);
  });
});

describe("the template", () => {
  test("a field that a task has not refuses, with line and field", async () => {
    const more = { prompt: "Fix {{file}} in {{ place }}" };
    const text = '{"file":"a","place":"b"}\n{"file":"a"}\n{"file":{"x":1},"place":2}\n';
    expect(told(await check("t.jsonl", text, more))).toEqual([
      "t.jsonl:2 place: {{place}} of the template: the task has no such field",
      't.jsonl:3 file: {{file}} of the template: cannot stand in a text: {"x":1}',
    ]);
    const { specs } = await check("t.jsonl", '{"file":"a","place":true}\n', more);
    expect(specs[0]?.prompt).toBe("Fix a in true");
  });

  test("what a value holds is not filled in again, and nothing is inherited", () => {
    expect(fillTemplate("{{a}}", { a: "{{b}} $& $1", b: "x" }).text).toBe("{{b}} $& $1");
    expect(fillTemplate("{{toString}} {{constructor}}", {}).missing.map(({ name }) => name)).toEqual([
      "toString",
      "constructor",
    ]);
  });

  test("a misspelt field that the template uses is the template's", async () => {
    const { issues } = await check("t.csv", "modle\nx\n", { prompt: "{{modle}}" });
    expect(issues).toEqual([]);
  });
});

describe("a limit under another name", () => {
  it.each([
    ["maxCost", "maxCostUsd"],
    ["max_cost", "maxCostUsd"],
    ["maxcost", "maxCostUsd"],
    ["maxBudgetUsd", "maxCostUsd"],
    ["budget", "maxCostUsd"],
    ["cost", "maxCostUsd"],
    ["cost_limit", "maxCostUsd"],
    ["turns", "maxTurns"],
    ["max-turn", "maxTurns"],
    ["seconds", "maxSeconds"],
    ["timeout", "maxSeconds"],
    ["timeoutMs", "maxSeconds"],
    ["maxTokens", "maxCostUsd, maxTurns, maxSeconds"],
  ])("%s is refused, and free for a template that uses it", async (name, meant) => {
    const { issues } = await check("t.jsonl", JSON.stringify({ prompt: "p", [name]: 5 }));
    expect(issues.map(({ path, hint }) => [path, hint])).toEqual([
      [`t.jsonl:1 ${name}`, `did you mean ${meant}?`],
    ]);
    const used = await check("t.jsonl", JSON.stringify({ [name]: 5 }), { prompt: `p {{${name}}}` });
    expect([used.issues, used.specs[0]?.prompt]).toEqual([[], "p 5"]);
  });

  it.each(["file", "total", "limit", "costCentre", "returns", "climax"])("%s is none", async (name) => {
    expect(told(await check("t.jsonl", JSON.stringify({ prompt: "p", [name]: 5 })))).toEqual([]);
  });
});

test("the digest is that of what runs", async () => {
  const digestOf = async (text: string, more: Partial<TaskDefaults> = {}, hooks = "h") =>
    digestTasks((await check("t.jsonl", text, more)).specs, hooks);
  const one = await digestOf('{"prompt":"p","id":"a"}');
  expect(await digestOf('\n{"id":"a", "prompt":"p"}')).toBe(one);
  expect(await digestOf('{"id":"a"}', { prompt: "p" })).toBe(one);
  const others = [
    await digestOf('{"id":"a","prompt":"q"}'),
    await digestOf('{"id":"a","prompt":"p"}\n{"prompt":"p"}'),
    await digestOf('{"id":"a","prompt":"p"}', { model: "m" }),
    await digestOf('{"id":"a","prompt":"p"}', {}, "other"),
  ];
  expect(new Set([one, ...others]).size).toBe(5);
});
