// The folders of a case, what stands for them, and what a case's words become.

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { plantFiles, setStage } from "../../../src/prove/matrix/stage.ts";
import { MODELS, runOptions, toDeclaration, toScript } from "../../../src/prove/matrix/translate.ts";
import { makeItem } from "./support.ts";

async function makeStage() {
  const scratch = mkdtempSync(join(tmpdir(), "bridle-stage-test-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  return setStage(scratch);
}

describe("a stage", () => {
  it("replaces its placeholders in keys and values, however deep, and leaves others alone", async () => {
    const { expand, project, notes, home } = await makeStage();
    expect(expand({ "%project%": [{ a: "%home%/x %notes%" }], n: 1, none: null, other: "%absent%" })).toEqual(
      {
        [project]: [{ a: `${home}/x ${notes}` }],
        n: 1,
        none: null,
        other: "%absent%",
      },
    );
  });

  it("takes names for paths in the project unless they are absolute", async () => {
    const { at, project, home } = await makeStage();
    expect(at("a/b")).toBe(join(project, "a/b"));
    expect(at("%home%/.codex")).toBe(join(home, ".codex"));
  });

  it("plants files with placeholders, folders and modes, and leaves nothing behind", async () => {
    const stage = await makeStage();
    await plantFiles(stage, [
      { path: "deep/config.json", json: { at: "%notes%" } },
      { path: "%home%/.x/run.sh", text: "echo %project%\n", mode: "0755" },
      { path: "folder", folder: true },
    ]);
    expect(JSON.parse(readFileSync(stage.at("deep/config.json"), "utf8"))).toEqual({ at: stage.notes });
    expect(readFileSync(join(stage.home, ".x/run.sh"), "utf8")).toBe(`echo ${stage.project}\n`);
    expect(statSync(join(stage.home, ".x/run.sh")).mode & 0o777).toBe(0o755);
    expect(statSync(stage.at("folder")).isDirectory()).toBe(true);
    await stage.remove();
    expect(existsSync(stage.root)).toBe(false);
  });
});

describe("a case's words", () => {
  it("become a declaration whose guards are scripts outside the project, or in it when it says so", async () => {
    const stage = await makeStage();
    const declaration = toDeclaration(
      {
        hooks: {
          PreToolUse: [
            { matcher: "kind:shell", sh: "echo %notes%", timeout: 1, on_failure: "open", grants: true },
            { answer: { at: "%project%" }, in_project: true },
            { argv: ["/bin/true", "%tmp%"] },
          ],
        },
        declaration: { Stop: "word for word" },
      },
      stage,
    );
    const [first, second] = [join(stage.guards, "guard-0.sh"), join(stage.project, "guard-1.sh")];
    expect(declaration).toEqual({
      PreToolUse: [
        {
          matcher: "kind:shell",
          hooks: [
            {
              type: "command",
              command: ["/bin/sh", first, stage.notes],
              timeout: 1,
              on_failure: "open",
              grants: true,
            },
          ],
        },
        { hooks: [{ type: "command", command: ["/bin/sh", second, stage.notes] }] },
        { hooks: [{ type: "command", command: ["/bin/true", stage.tmp] }] },
      ],
      Stop: "word for word",
    });
    expect(readFileSync(first, "utf8")).toBe(`echo ${stage.notes}\n`);
    expect(readFileSync(join(stage.project, "answer-1.json"), "utf8")).toBe(`{"at":"${stage.project}"}\n`);
  });

  it("become a script of the model, with each column's own name for the MCP tool", async () => {
    const stage = await makeStage();
    const steps = [
      { tools: [{ shell: "touch %project%/a", id: "call" }, { mcp_touch: "b" }] },
      { tools: [{ agent: "Help.", steps: [{ tools: [{ write: "c" }] }] }] },
      { text: "said", fault: { kind: "status" as const, status: 400 } },
    ];
    expect(toScript(steps, "codex", stage)).toEqual([
      {
        tools: [
          { kind: "shell", command: `touch ${stage.at("a")}`, id: "call" },
          { kind: "raw", name: "mcp__files.touch", input: { path: stage.at("b") } },
        ],
      },
      {
        tools: [
          {
            kind: "agent",
            prompt: "Help.",
            script: [{ tools: [{ kind: "write", path: stage.at("c"), content: "written\n" }] }],
          },
        ],
      },
      { text: "said", fault: { kind: "status", status: 400 } },
    ]);
    expect(toScript([{ tools: [{ mcp_touch: "b" }] }], "claude", stage)).toMatchObject([
      { tools: [{ name: "mcp__files__touch" }] },
    ]);
  });

  it("become options over those every run gets, null taking one away and settings merged", async () => {
    const stage = await makeStage();
    expect(runOptions(makeItem(), stage, {})).toEqual({
      model: MODELS.claude,
      allowedTools: expect.arrayContaining(["Bash"]),
    });
    expect(
      runOptions(makeItem({ options: { model: null, allowedTools: [], addDirs: ["%tmp%"] } }), stage, {}),
    ).toEqual({ allowedTools: [], addDirs: [stage.tmp] });
    const codex = makeItem({
      column: "codex",
      options: { providerConfig: { own: 1 }, sandbox: "read-only" },
    });
    expect(runOptions(codex, stage, { model_provider: "loopback" })).toEqual({
      model: MODELS.codex,
      sandbox: "read-only",
      providerConfig: { model_provider: "loopback", own: 1 },
    });
  });
});
