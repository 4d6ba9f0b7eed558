// From a case's words to what Bridle and the model servers take: declaration, script, options.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HookDeclaration, HookEntry, HookGroup } from "../../declaration/types.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { CLAUDE_MODEL, CODEX_CLASSIC_MODEL, CODEX_CODE_MODE_MODEL } from "../provider-env.ts";
import type { ModelScript, ModelStep, ToolUse } from "../script.ts";
import type { ColumnName, HookSource, MatrixCase, StepSource, ToolSource } from "./schema.ts";
import type { Stage } from "./stage.ts";

export function toScript(steps: readonly StepSource[], column: ColumnName, stage: Stage): ModelScript {
  return steps.map(
    ({ text, tools, fault }): ModelStep => ({
      ...(text === undefined ? {} : { text: stage.expand(text) }),
      ...(tools === undefined ? {} : { tools: tools.map((tool) => toTool(tool, column, stage)) }),
      ...(fault === undefined ? {} : { fault: fault as NonNullable<ModelStep["fault"]> }),
    }),
  );
}

function toTool(tool: ToolSource, column: ColumnName, stage: Stage): ToolUse {
  const id = tool.id === undefined ? {} : { id: tool.id };
  const { expand, at } = stage;
  if ("shell" in tool) return { kind: "shell", command: expand(tool.shell), ...id };
  if ("write" in tool)
    return { kind: "write", path: at(tool.write), content: tool.content ?? "written\n", ...id };
  if ("patch" in tool) return { kind: "edit-patch", patch: expand(tool.patch), ...id };
  if ("raw" in tool) return { kind: "raw", name: tool.raw, input: expand(tool.input), ...id };
  if ("mcp_touch" in tool) {
    // codex offers the tool inside a namespace, classic models call it by that; code mode joins both.
    const name = column === "codex" ? "mcp__files.touch" : "mcp__files__touch";
    return { kind: "raw", name, input: { path: at(tool.mcp_touch) }, ...id };
  }
  return {
    kind: "agent",
    prompt: tool.agent ?? "Help out.",
    script: toScript(tool.steps, column, stage),
    ...id,
  };
}

/** Writes the guards' scripts and returns the declaration that names them. */
export function toDeclaration(
  { hooks, declaration }: Pick<MatrixCase, "hooks" | "declaration">,
  stage: Stage,
): HookDeclaration {
  let count = 0;
  const toGroup = (source: HookSource): HookGroup => {
    const { matcher, timeout, on_failure, grants } = source;
    const entry: HookEntry = {
      type: "command",
      command: source.argv?.map(stage.expand) ?? writeGuard(source, stage, count++),
      ...(timeout === undefined ? {} : { timeout }),
      ...(on_failure === undefined ? {} : { on_failure }),
      ...(grants === undefined ? {} : { grants }),
    };
    return { ...(matcher === undefined ? {} : { matcher }), hooks: [entry] };
  };
  const written = Object.entries(hooks ?? {}).map(([event, list]) => [event, list.map(toGroup)]);
  return { ...Object.fromEntries(written), ...stage.expand({ ...declaration }) };
}

function writeGuard({ sh, answer, in_project }: HookSource, stage: Stage, index: number): string[] {
  const folder = in_project === true ? stage.project : stage.guards;
  const path = join(folder, `guard-${index}.sh`);
  if (answer === undefined) writeFileSync(path, `${stage.expand(sh ?? "")}\n`);
  else {
    const file = join(folder, `answer-${index}.json`);
    writeFileSync(file, `${JSON.stringify(stage.expand(answer))}\n`);
    writeFileSync(path, `cat >/dev/null\ncat '${file}'\n`);
  }
  return ["/bin/sh", path, stage.notes];
}

export const MODELS: Readonly<Record<ColumnName, string>> = {
  claude: CLAUDE_MODEL,
  "claude-callbacks": CLAUDE_MODEL,
  codex: CODEX_CLASSIC_MODEL,
  "codex-code-mode": CODEX_CODE_MODE_MODEL,
};

/** What every run of a case gets, so that nothing but the guard keeps a call from running, and the case's own options over it. */
export function runOptions({ column, options }: MatrixCase, stage: Stage, provider: JsonObject): JsonObject {
  const base: JsonObject = column.startsWith("claude")
    ? { allowedTools: ["Bash", "Write", "Edit", "Agent", "mcp__files__touch"] }
    : // The sandbox is off but where it is the subject: not every host lets codex build one.
      { sandbox: "danger-full-access" };
  const { providerConfig, ...own } = stage.expand({ ...options });
  const merged: JsonObject = { ...base, model: MODELS[column], ...own };
  const config = { ...provider, ...(isJsonObject(providerConfig) ? providerConfig : {}) };
  const kept = Object.entries(merged).filter(([, value]) => value !== null);
  return {
    ...Object.fromEntries(kept),
    ...(Object.keys(config).length > 0 ? { providerConfig: config } : {}),
  };
}
