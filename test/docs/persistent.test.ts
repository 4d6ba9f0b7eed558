// Holds docs/PERSISTENT.md to the code, and runs its examples.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { type ChainStep, runChain } from "../../src/broker/chain.ts";
import { type ChainSession, closeChainSession, createChainSession } from "../../src/broker/chain-session.ts";
import * as limits from "../../src/exec/persistent/limits.ts";
import { isSound, loadDeclaration, testHooks } from "../../src/index.ts";
import { chainTerms, commandEntryOf, SHELL_CALL } from "../broker/chain-support.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/PERSISTENT.md");

let session: ChainSession;
beforeEach(() => {
  session = createChainSession();
});
afterEach(() => closeChainSession(session));

const python = execFileSync("/bin/sh", ["-c", "command -v python3 || true"]).toString().trim();

describe.each([
  ["js", "persistent-guard.mjs", process.execPath, "//"],
  ["python", "persistent_guard.py", python, "#"],
])("the example in %s", (language, file, program, comment) => {
  it("is the file in examples/, whole", () => {
    expect(page).toContain(
      `\`\`\`${language}\n${comment} example: examples/${file}\n${read(`examples/${file}`)}\`\`\``,
    );
  });

  it.skipIf(program === "")("guards: it blocks, it lets through, and it remembers", async () => {
    const entry = { ...commandEntryOf([program, join(root, "examples", file)]), persistent: true };
    const steps: ChainStep[] = [];
    const verdicts = [];
    for (const command of ["ls", "rm x", "ls", "echo \u2028é"]) {
      const { verdict } = await runChain({
        ...chainTerms(session),
        envelope: { ...SHELL_CALL, tool_kind: "shell", tool_command: command, tool_input: { command } },
        entries: [entry],
        cwd: root,
        onStep: (step) => steps.push(step),
      });
      verdicts.push(verdict);
    }
    expect(verdicts).toEqual([
      { decision: "none" },
      { decision: "deny", reason: "deleting files is not allowed in this project" },
      { decision: "none", context: "you ran this before" },
      { decision: "none" },
    ]);
    expect(steps.map(({ exit }) => exit?.kind)).toEqual(Array(4).fill("answered"));
  });
});

test("examples/persistent.yaml is a declaration whose self-tests pass", async () => {
  const loaded = await loadDeclaration(join(root, "examples/persistent.yaml"));
  const reports = await testHooks({ ...loaded, home: root });
  expect(reports).toMatchObject([
    { persistent: true, blocks: "denies", rows: [{ got: "deny" }, { got: "allow" }] },
  ]);
  expect(reports.every(isSound)).toBe(true);
});

test("its bounds are those of the code", () => {
  const { FAILURE_LIMIT, FAILURE_WINDOW_MS, ABANDONED_LIMIT, UNREAD_LIMIT_BYTES, CLOSE_GRACE_MS } = limits;
  expect(page).toContain(`More than ${FAILURE_LIMIT} failures within ${FAILURE_WINDOW_MS / 1_000} seconds`);
  expect(page).toContain(`more than ${ABANDONED_LIMIT} such calls`);
  expect(page).toContain(`more than ${UNREAD_LIMIT_BYTES / 2 ** 20} MiB wait in its stdin`);
  expect([CLOSE_GRACE_MS, page.includes("One second later")]).toEqual([1_000, true]);
  expect([limits.LINE_CAP_BYTES, page.includes("longer than 1 MiB")]).toEqual([2 ** 20, true]);
  expect([limits.STDERR_TAIL_BYTES, page.includes("last KiB")]).toEqual([1024, true]);
});
