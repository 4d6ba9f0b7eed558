import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Provider } from "../../src/index.ts";
import { createFakeProvider, type FakeScript, FakeScriptInvalid } from "../../src/testkit/index.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bridle-script-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function problemsOf(script: unknown, provider: Provider = "claude"): Promise<readonly string[]> {
  const error = await createFakeProvider({ provider, script: script as FakeScript, directory }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof FakeScriptInvalid ? error.problems : [`no FakeScriptInvalid but ${String(error)}`];
}

describe("a script", () => {
  const tool = (call: unknown) => ({ steps: [{ text: "a" }, { tools: [{ shell: "true" }, call] }] });
  const bad: [string, unknown, RegExp][] = [
    ["that is no object", "steps", /^the script: .*, got "steps"$/],
    ["without steps", {}, /^steps: .*, got nothing$/],
    ["with an unknown key", { steps: [], step: [] }, /^the script: .*"step"/],
    [
      "with an unknown key in a step",
      { steps: [{ txt: "a" }] },
      /^steps\[0\]: .*"txt".*, got \{"txt":"a"\}$/,
    ],
    ["with a text that is none", { steps: [{ text: 1 }] }, /^steps\[0\]\.text: .*, got 1$/],
    [
      "with a call of no kind",
      tool({}),
      /^steps\[1\]\.tools\[1\]: expected exactly one of shell, write and raw/,
    ],
    ["with a call of two kinds", tool({ shell: "a", raw: { name: "a", input: {} } }), /exactly one of/],
    ["with a bad write", tool({ write: { path: "a" } }), /^steps\[1\]\.tools\[1\]\.write\.content: /],
    ["with an input that is no object", tool({ raw: { name: "a", input: [] } }), /raw\.input: .*, got \[\]$/],
    [
      "with an unknown sin",
      { steps: [], sins: ["be-late"] },
      /^sins\[0\]: unknown sin; known here: .*never-exit.*got "be-late"/,
    ],
    [
      "with a sin at the wrong place",
      { steps: [{ sins: ["skip-hook"] }] },
      /^steps\[0\]\.sins\[0\]: is a sin of a tool, not of a step/,
    ],
    ["with a sin of the other CLI", { steps: [], sins: ["lie-untrusted"] }, /is no sin of claude/],
    ["with a value too many", { steps: [], sins: [{ "never-exit": 1 }] }, /takes no value/],
    [
      "with a value missing",
      { steps: [], sins: ["exit-code"] },
      /needs a value: \{ "exit-code": an exit code/,
    ],
    ["with a bad code", { steps: [], sins: [{ "exit-code": 256 }] }, /expected an exit code from 0 to 255/],
    ["with a bad signal", { steps: [{ sins: [{ crash: "SIGNOT" }] }] }, /expected the name of a signal/],
    ["with a bad flag", { steps: [], sins: [{ "drop-flag": "settings" }] }, /expected a flag/],
    ["with endless megabytes", { steps: [{ sins: [{ "long-line": 1e9 }] }] }, /at most 1000/],
    [
      "with two sins in one object",
      { steps: [], sins: [{ "exit-code": 1, "never-exit": 1 }] },
      /expected a name or/,
    ],
    ["with a bad version", { version: "2.1", steps: [] }, /^version: expected a version/],
  ];
  test.each(bad)("%s is refused by place and value", async (_name, script, problem) => {
    expect(await problemsOf(script)).toEqual([expect.stringMatching(problem)]);
  });

  test("with many problems tells all of them, each behind the name of the script", async () => {
    const script = { steps: [{ text: 1 }, { thinking: 2 }] } as unknown as FakeScript;
    const making = createFakeProvider({ provider: "claude", script, directory });
    await expect(making).rejects.toThrow(/^script: steps\[0\]\.text: .*\nscript: steps\[1\]\.thinking: /);
  });
});
