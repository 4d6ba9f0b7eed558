// What a matrix file may say, and that a wrong one is refused by name.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { columnsOf, loadMatrix } from "../../../src/prove/matrix/load.ts";

const base = {
  id: "one",
  title: "One",
  kind: "blocks",
  event: "PreToolUse",
  rule: ["Dv1-5"],
  columns: ["claude", "codex"],
};

async function load(...cases: object[]) {
  const folder = await mkdtemp(join(tmpdir(), "bridle-matrix-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "10-some.yaml"), stringify(cases));
  return loadMatrix(folder);
}

describe("a matrix", () => {
  it("has one entry a case and column, its differences merged in", async () => {
    const hooks = { PreToolUse: [{ sh: "exit 1" }] };
    const { cases } = await load({
      ...base,
      core: true,
      hooks,
      on: { codex: { required: false, because: "codex cannot", core: false } },
    });
    expect(cases).toMatchObject([
      { column: "claude", via: "bridle", required: true, core: true, hooks },
      { column: "claude-callbacks", via: "bridle", required: true, core: true, hooks },
      { column: "codex", via: "bridle", required: false, because: "codex cannot", core: false, hooks },
    ]);
  });

  it("plays what claude does through Bridle over callbacks too, with claude's differences and its own over them", async () => {
    const { cases } = await load({
      ...base,
      on: {
        claude: { required: false, because: "claude cannot" },
        "claude-callbacks": { because: "nor here", core: true },
      },
    });
    expect(cases.map(({ column, because, core }) => [column, because, core])).toEqual([
      ["claude", "claude cannot", undefined],
      ["claude-callbacks", "nor here", true],
      ["codex", undefined, undefined],
    ]);
  });

  it("plays what stands in the shim's place with the shim alone", async () => {
    const { cases } = await load({ ...base, via: "handler", shim: "exit 90" });
    expect(cases.map(({ column }) => column)).toEqual(["claude", "codex"]);
  });

  it.each([
    ["without answers", { columns: ["claude-callbacks"], via: "callback" }],
    ["on another column", { columns: ["codex"], via: "callback", answers: "never" }],
  ])("refuses a case via callback %s", async (_name, part) => {
    await expect(load({ ...base, ...part })).rejects.toThrow(/case one: via callback needs answers/);
  });

  it("has another digest when a file of its folder is another", async () => {
    const [first, second] = [await load(base), await load({ ...base, title: "Another" })];
    expect(first.digest).not.toBe(second.digest);
    expect((await load(base)).digest).toBe(first.digest);
  });

  it("knows the columns of a provider", () => {
    expect(columnsOf("codex")).toEqual(["codex", "codex-code-mode"]);
    expect(columnsOf("claude")).toEqual(["claude", "claude-callbacks"]);
  });
});

describe("a wrong case is refused, by file, id and problem:", () => {
  it.each<[string, object, RegExp]>([
    ["an unknown key", { ...base, colour: "red" }, /10-some\.yaml: one: .*colour/],
    ["an unknown expectation", { ...base, expect: { vanished: ["x"] } }, /one: expect: .*vanished/],
    ["an unknown event", { ...base, event: "PreTooluse" }, /one: event/],
    ["an unknown column", { ...base, columns: ["gemini"] }, /one: columns/],
    ["an id with capitals", { ...base, id: "One" }, /One: id/],
    ["a hook with two sources", { ...base, hooks: { Stop: [{ sh: "", answer: {} }] } }, /exactly one of sh/],
    ["a hook without a source", { ...base, hooks: { Stop: [{ timeout: 1 }] } }, /exactly one of sh/],
    ["a plant of two sorts", { ...base, plant: [{ path: "x", text: "", json: {} }] }, /exactly one of text/],
    ["a tool nobody has", { ...base, steps: [{ tools: [{ dance: "x" }] }] }, /one: steps/],
    ["an unknown sort of shim", { ...base, via: "handler", shim: { is: "sleepy" } }, /one: shim/],
    ["the handler form without a shim", { ...base, via: "handler" }, /via handler needs a shim/],
    ["a case that is not required, without a word", { ...base, required: false }, /needs a because/],
    [
      "a downgrade to a case that is not there",
      { ...base, downgrade: { to: "subagents-off", proven_by: ["two"] } },
      /proven_by names two/,
    ],
  ])("%s", async (_what, source, message) => {
    await expect(load(source)).rejects.toThrow(message);
  });

  it("an id given twice", async () => {
    await expect(load(base, base)).rejects.toThrow(/case one exists twice/);
  });
});
