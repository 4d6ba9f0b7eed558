// bridle receipts verify as a process, on receipts of real runs of a fake agent.

import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compileAgentHooks, type RunResult, spawnAgent } from "../../src/index.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { type Desk, makeDesk, RUN } from "./receipts-support.ts";

let desk: Desk;
let result: RunResult;
let path: string;
let written: string;

beforeAll(async () => {
  desk = await makeDesk();
  const { binary } = await createFakeProvider({
    provider: "codex",
    script: { steps: [{ tools: [{ shell: "true" }] }, { text: "done" }] },
    directory: join(desk.path, "fakes"),
  });
  const handler = () => undefined;
  const hooks = await compileAgentHooks(
    { PreToolUse: [{ hooks: [{ type: "function", handler }] }] },
    { provider: "codex", cwd: desk.path, binary, prove: "off" },
  );
  const run = await spawnAgent({
    hooks,
    prompt: "hello",
    cwd: desk.path,
    configHome: "run",
    runDirParent: join(process.env.HOME ?? "", ".cache"),
    baseEnv: desk.env,
  });
  result = await run.result;
  path = result.receiptPath as string;
  written = readFileSync(path, "utf8");
});
afterAll(() => desk.remove());

const verify = async (...words: string[]) => {
  const { code, stdout, stderr } = await desk.bridle("verify", ...words);
  return { code, stdout, stderr };
};

test("a real run is intact, by its id, by its file, and by the head of its result", async () => {
  expect(result.outcome).toBe("success");
  for (const words of [
    [],
    [result.runId.slice(0, 8)],
    [path],
    [path, "--head", result.receiptHead as string],
  ]) {
    const { code, stdout } = await verify(...words);
    expect(stdout).toContain(`intact      ${path}`);
    expect(stdout).toContain(`head ${result.receiptHead}`);
    expect(code).toBe(0);
  }
  const { stdout } = await verify("--json");
  expect(JSON.parse(stdout)).toMatchObject({
    type: "verified",
    files: [{ path, state: "intact", problems: [], runs: [{ head: result.receiptHead, isEnded: true }] }],
  });
});

test("a changed line is named with file and line, and the exit code is 1", async () => {
  try {
    writeFileSync(path, written.replace('"decision":"none"', '"decision":"deny"'));
    const line = written.split("\n").findIndex((text) => text.includes('"decision":"none"')) + 1;
    const { code, stdout } = await verify();
    expect(stdout).toContain(`${path}:${line}: changed: `);
    expect(code).toBe(1);
    const told = JSON.parse((await verify("--json", path)).stdout);
    expect(told.files).toMatchObject([{ state: "broken", problems: [{ kind: "changed", line }] }]);
  } finally {
    writeFileSync(path, written);
  }
});

test("a tail that was cut is found: the journal knows that the run has ended", async () => {
  try {
    writeFileSync(path, written.split("\n").slice(0, -2).join("\n").concat("\n"));
    const { code, stdout } = await verify(result.runId);
    expect(stdout).toMatch(/^broken /);
    expect(stdout).toContain(": cut: the journal says that the run has ended (success)");
    expect(code).toBe(1);
  } finally {
    writeFileSync(path, written);
  }
});

test("another head, a file without a chain, one that is not there: 1, each told; two files and a head: 64", async () => {
  const head = await verify(path, "--head", "0".repeat(64));
  expect([head.code, head.stdout]).toEqual([1, expect.stringContaining(": head: ends in ")]);
  const old = desk.writeRun(RUN, { session: "s" });
  const chainless = await verify(old);
  expect([chainless.code, chainless.stdout]).toEqual([1, expect.stringMatching(/^not chained /)]);
  const none = await verify(join(desk.path, "none.jsonl"));
  expect([none.code, none.stdout]).toEqual([1, expect.stringMatching(/^unreadable /)]);
  expect((await verify(old, path, "--head", "0".repeat(64))).code).toBe(64);
  expect((await verify("zzz")).code).toBe(78);
  rmSync(old);
});

test("control characters of a file do not reach the terminal", async () => {
  const file = join(desk.path, "odd.jsonl");
  appendFileSync(file, `{"run_id":"\\u001b[31mred"}\n`);
  const { stdout } = await verify(file);
  expect(stdout).not.toContain("\u001b");
});
