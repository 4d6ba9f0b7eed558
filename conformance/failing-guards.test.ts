// A guard that did not clear the action did not clear it: each way to fail denies on the real CLIs, beside a run of the same
// script without the guard in which the side effect happens.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { guardTools, printTool } from "./support/guards.ts";
import {
  ALL,
  BOTH,
  CODEX_CODE_MODE,
  type Column,
  type GuardedRun,
  runGuarded,
  runUnguarded,
  type Site,
  shell,
  TOOL_PATH,
  touch,
} from "./support/harness.ts";

interface Failure {
  readonly name: string;
  readonly source: string;
  readonly timeout?: number;
  /** What the model is told about it. */
  readonly says: RegExp;
  readonly inCodeMode?: true;
}

const denyAfterNoise = printTool({ permissionDecision: "deny" }).replace("cat", "echo noise; cat");

const FAILURES: readonly Failure[] = [
  { name: "exit 1", source: "echo broken >&2; exit 1", says: /exit 1.*broken/s, inCodeMode: true },
  { name: "exit 126", source: "exit 126", says: /exit 126/ },
  { name: "exit 127", source: "no-such-program-anywhere", says: /exit 127/ },
  { name: "SIGKILL", source: "kill -9 $$", says: /SIGKILL/, inCodeMode: true },
  { name: "a hang", source: "sleep 30", timeout: 1, says: /no answer within 1000 ms/, inCodeMode: true },
  { name: "broken JSON", source: `printf '{"x":'`, says: /not one JSON object/, inCodeMode: true },
  { name: "noise before the JSON of a deny", source: denyAfterNoise, says: /not one JSON object/ },
  {
    name: "an unknown decision",
    source: printTool({ permissionDecision: "permit" }),
    says: /unknown decision.*permit/s,
  },
  { name: "ask", source: printTool({ permissionDecision: "ask" }), says: /asks for approval/ },
  { name: "5 MB of output", source: "head -c 5000000 /dev/zero | tr '\\000' x", says: /output limit/ },
];

const script = (site: Site) => [{ tools: [touch(site, "happened.txt", "call_guarded")] }];

function expectDenied(run: GuardedRun, says: RegExp): void {
  expect(run.site.has("happened.txt")).toBe(false);
  expect(run.server.toolResults().get("call_guarded")).toMatch(says);
  expect(run.result.outcome).toBe("success");
  expect(run.result.hooks).toMatchObject({ denied: 1 });
  expect(run.result.extinction.survivors).toEqual([]);
}

describe.each(ALL)("$mode: a guard that fails", (column) => {
  it("is needed: without it the call runs", async () => {
    const control = await runUnguarded({ column, script });
    expect(control.result.outcome).toBe("success");
    expect(control.site.has("happened.txt")).toBe(true);
  });

  const failures = FAILURES.filter(({ inCodeMode }) => column !== CODEX_CODE_MODE || inCodeMode);
  it.each(failures)("denies by $name", async ({ source, timeout, says }) => {
    const more = timeout === undefined ? {} : { timeout };
    const run = await runGuarded({ column, script, declaration: guardTools(source, more) });
    expectDenied(run, says);
  });
});

describe.each(BOTH)("$mode: a guard that talks", (column) => {
  it("admits by chatter without a brace, and the receipt notes it", async () => {
    const run = await runGuarded({ column, script, declaration: guardTools("echo checked, looks fine") });
    expect(run.site.has("happened.txt")).toBe(true);
    expect(run.result.outcome).toBe("success");
    const notes = run.receipts.flatMap((line) => (line.kind === "hook" ? line.notes : []));
    expect(notes).toMatchObject([
      { code: "no_structured_output", detail: expect.stringContaining("looks fine") },
    ]);
  });

  it("admits by exit 1 when the entry says on_failure: open", async () => {
    const declaration = guardTools("exit 1", { on_failure: "open" });
    const run = await runGuarded({ column, script, declaration });
    expect(run.site.has("happened.txt")).toBe(true);
    expect(run.result.hooks).toMatchObject({ denied: 0, failed: 1 });
  });
});

const rewriteGuard = (site: Site) => shell(`echo 'exit 0' > '${site.at("guard.sh")}'`);
const deleteGuard = (site: Site) => shell(`rm '${site.at("guard.sh")}'`);

describe.each(ALL)("$mode: a guard that the agent reaches", (column: Column) => {
  it.each([
    { name: "changed", tamper: rewriteGuard },
    { name: "deleted", tamper: deleteGuard },
  ])("ends the run as unenforced once it is $name, and the next call does not run", async ({ tamper }) => {
    const two = (site: Site) => [
      { tools: [touch(site, "first.txt")] },
      { tools: [tamper(site)] },
      { tools: [touch(site, "second.txt")] },
    ];
    // The guard admits everything: what stops the second call is that it is no longer the one compiled.
    const run = await runGuarded({ column, script: two, declaration: guardTools("cat >/dev/null") });
    expect(run.site.has("first.txt")).toBe(true);
    expect(run.site.has("second.txt")).toBe(false);
    expect(run.result.outcome).toBe("unenforced");
    expect(run.result.reason).toMatch(/command_changed/);

    const control = await runUnguarded({
      column,
      script: two,
      prepare: (site) => void site.guard("cat >/dev/null"),
    });
    expect(control.site.has("second.txt")).toBe(true);
  });
});

describe.each(BOTH)("$mode: a program the agent plants where npm puts its own", (column) => {
  it("is not what a guard runs", async () => {
    const { site, result } = await runGuarded({
      column,
      prepare: ({ project }) => {
        mkdirSync(join(project, "node_modules", ".bin"), { recursive: true });
      },
      path: ({ project }) => `${project}/node_modules/.bin:${TOOL_PATH}`,
      declaration: (site) => guardTools("grep -q forbidden && exit 2; exit 0")(site),
      script: (site) => [
        {
          tools: [
            shell(
              `printf '#!/bin/sh\\nexit 1\\n' > '${site.at("node_modules/.bin/grep")}' && chmod +x '${site.at("node_modules/.bin/grep")}'`,
            ),
          ],
        },
        { tools: [touch(site, "forbidden.txt")] },
      ],
    });
    expect(site.has("node_modules/.bin/grep")).toBe(true);
    expect(site.has("forbidden.txt")).toBe(false);
    expect(result.hooks.denied).toBe(1);
  });
});
