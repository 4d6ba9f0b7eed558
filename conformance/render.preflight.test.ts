// What is rendered attests, and each way to switch our hooks off or to add others is seen by the preflight. No model is asked:
// claude is given no prompt, codex is only its app-server. The first case of each provider is the control of all others.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { HookPlan } from "../src/compiler/plan.ts";
import type { JsonObject } from "../src/json.ts";
import { tomlValue } from "../src/render/codex/toml.ts";
import type { PreflightReport, RenderedRun, RunContext, RunOptions } from "../src/render/provider.ts";
import { type Attempt, attest, compilePlan } from "./support/attest.ts";

const FOREIGN = [{ hooks: [{ type: "command", command: "exit 0" }] }];
const codesOf = ({ issues }: PreflightReport) => [...new Set(issues.map(({ code }) => code))];
/** codex's hash of a Stop hook `exit 0` with a timeout of 5 s. */
const EXIT_0_ON_STOP = "006d6a6e001ef8d21e59c0b6c2f86a9dd8f669e2c2f3f6bd38264402f7f63e61";
const INSTRUCTIONS = { instructions: "Be brief." } satisfies Partial<RunOptions>;

describe("claude", () => {
  let plan: HookPlan;
  beforeAll(async () => {
    plan = await compilePlan(
      "claude",
      [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PermissionRequest",
        "Stop",
      ],
      import.meta.dirname,
    );
  });

  interface Settings extends JsonObject {
    hooks: Record<string, { matcher?: string; hooks: JsonObject[] }[]>;
  }
  /** Changes the rendered settings file, as an object or as text. */
  const settings =
    (change: (parsed: Settings, handler: JsonObject) => string | undefined) =>
    (rendered: RenderedRun): RenderedRun => ({
      ...rendered,
      files: rendered.files.map((file) => {
        if (file.path !== "settings.json") return file;
        const parsed = JSON.parse(file.content) as Settings;
        const text = change(parsed, parsed.hooks.PreToolUse?.[0]?.hooks[0] ?? {});
        return { ...file, content: text ?? JSON.stringify(parsed) };
      }),
    });
  const handlerWith = (fields: JsonObject) =>
    settings((_parsed, handler) => void Object.assign(handler, fields));
  const args =
    (...added: string[]) =>
    (rendered: RenderedRun): RenderedRun => ({ ...rendered, argv: [...rendered.argv, ...added] });
  const plugin = (flag: string) => (rendered: RenderedRun, context: RunContext) => {
    const folder = join(context.tmpDir, "planted");
    for (const inner of [".claude-plugin", "hooks"]) mkdirSync(join(folder, inner), { recursive: true });
    writeFileSync(join(folder, ".claude-plugin/plugin.json"), '{"name":"planted","version":"1.0.0"}');
    writeFileSync(join(folder, "hooks/hooks.json"), JSON.stringify({ hooks: { PreToolUse: FOREIGN } }));
    return flag.startsWith("--")
      ? args(`${flag}=${folder}`)(rendered)
      : { ...rendered, env: { ...rendered.env, [flag]: { value: folder, why: "planted" } } };
  };

  it("attests what is rendered, without a model", async () => {
    const { version: providerVersion } = plan.binary;
    expect(await attest(plan)).toMatchObject({ issues: [], foreignHooks: [], providerVersion });
  });

  it("attests with every option in use", async () => {
    const options: Partial<RunOptions> = {
      ...INSTRUCTIONS,
      model: "claude-sonnet-4-5",
      permissionMode: "acceptEdits",
      tools: ["Bash", "Read"],
      allowedTools: ["Bash(git log *)"],
      disallowedTools: ["WebFetch"],
      maxTurns: 3,
      mcpServers: {},
      denyRules: { deny: ["Read(./secret)"], ask: ["Bash(git push *)"] },
      providerConfig: { includeCoAuthoredBy: false },
      extraArgs: ["--effort=low", "--disable-slash-commands", "--betas", "some-beta"],
    };
    expect((await attest(plan, { options })).issues).toEqual([]);
  });

  it.each<[string, Attempt]>([
    ["a hook taken out", { tamper: settings(({ hooks }) => void delete hooks.PreToolUse) }],
    ["onFailure taken out", { tamper: settings((_parsed, handler) => void delete handler.onFailure) }],
    ["another timeout", { tamper: handlerWith({ timeout: 1 }) }],
    ["a timeout of 0, which voids the file", { tamper: handlerWith({ timeout: 0 }) }],
    ["another command", { tamper: handlerWith({ command: "exit 0" }) }],
    ["a hook that answers too late", { tamper: handlerWith({ async: true }) }],
    [
      "a matcher",
      {
        tamper: settings(({ hooks }) => void Object.assign(hooks.PreToolUse?.[0] ?? {}, { matcher: "Read" })),
      },
    ],
    ["a hook added", { tamper: settings(({ hooks }) => void hooks.PreToolUse?.push(...FOREIGN)) }],
    ["a file cut short", { tamper: settings((parsed) => JSON.stringify(parsed).slice(0, -20)) }],
    ["an empty file", { tamper: settings(() => " ") }],
    ["a second --settings", { tamper: args("--settings={}") }],
    ["--bare", { tamper: args("--bare") }],
    ["--safe-mode", { tamper: args("--safe-mode") }],
    ["CLAUDE_CODE_SIMPLE", { env: { CLAUDE_CODE_SIMPLE: "1" } }],
    ["CLAUDE_CODE_SAFE_MODE", { env: { CLAUDE_CODE_SAFE_MODE: "1" } }],
    ["--plugin-dir", { tamper: plugin("--plugin-dir") }],
    ["--plugin-dir-no-mcp", { tamper: plugin("--plugin-dir-no-mcp") }],
    ["CLAUDE_CODE_PLUGIN_DIRS", { tamper: plugin("CLAUDE_CODE_PLUGIN_DIRS") }],
    [
      "the user's settings let in",
      {
        tamper: args("--setting-sources=user"),
        prepare: (_site, { providerHome }) =>
          writeFileSync(join(providerHome, "settings.json"), JSON.stringify({ hooks: { Stop: FOREIGN } })),
      },
    ],
  ])("%s refuses", async (_name, attempt) => {
    expect(codesOf(await attest(plan, attempt))).toEqual(["attestation_failed"]);
  });

  it("disableAllHooks in the file refuses", async () => {
    const tamper = settings((parsed) => void Object.assign(parsed, { disableAllHooks: true }));
    expect(codesOf(await attest(plan, { tamper }))).toEqual(["provider_policy"]);
  });
});

describe("codex", () => {
  let plan: HookPlan;
  beforeAll(async () => {
    plan = await compilePlan(
      "codex",
      ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Interrupt"],
      import.meta.dirname,
    );
  });

  const argv =
    (change: (words: readonly string[]) => string[]) =>
    (rendered: RenderedRun): RenderedRun => ({
      ...rendered,
      preflightArgv: change(rendered.preflightArgv ?? []),
    });
  const replaced = (from: string | RegExp, to: string) =>
    argv((words) => words.map((word) => (word.startsWith("hooks=") ? word.replace(from, to) : word)));
  const added = (...more: string[]) => argv((words) => [...words, ...more]);
  const homeHooks = JSON.stringify({ hooks: { PreToolUse: FOREIGN } });

  it("attests what is rendered, each hash the one codex computes", async () => {
    expect(await attest(plan)).toMatchObject({ issues: [], foreignHooks: [] });
  });

  it("attests with every option in use", async () => {
    const options: Partial<RunOptions> = {
      ...INSTRUCTIONS,
      model: "gpt-5.5",
      sandbox: "read-only",
      mcpServers: { tools: { command: "/bin/true", args: ['a"b'], env: { KEY: "v.'\"\\" } } },
      providerConfig: { model_reasoning_effort: "low", "tui.animations": false },
    };
    expect((await attest(plan, { options })).issues).toEqual([]);
  });

  it("a hook in the home that nobody trusts is neither run nor reported", async () => {
    const prepare: Attempt["prepare"] = (_site, { providerHome }) =>
      writeFileSync(join(providerHome, "hooks.json"), homeHooks);
    expect(await attest(plan, { prepare })).toMatchObject({ issues: [], foreignHooks: [] });
  });

  it.each<[string, Attempt]>([
    ["a hook taken out", { tamper: replaced('"PreToolUse"=', '"preToolUse"=') }],
    ["no trust", { tamper: replaced('"trusted_hash"="sha256:', '"trusted_hash"="sha256:0') }],
    ["another timeout", { tamper: replaced(/"timeout"=\d+/, '"timeout"=1') }],
    ["another command", { tamper: replaced("/bin/sh ", "/bin/true ") }],
    ["a hook switched off", { tamper: replaced('{"trusted_hash"=', '{"enabled"=false,"trusted_hash"=') }],
    [
      "a trusted hook of the home",
      {
        prepare: (_site, { providerHome }) =>
          writeFileSync(
            join(providerHome, "config.toml"),
            `[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "exit 0"\ntimeout = 5\n[hooks.state]\n${tomlValue(`${providerHome}/config.toml:stop:0:0`)} = { trusted_hash = "sha256:${EXIT_0_ON_STOP}" }\n`,
          ),
      },
    ],
  ])("%s refuses", async (_name, attempt) => {
    expect(codesOf(await attest(plan, attempt))).toEqual(["attestation_failed"]);
  });

  it.each([
    ["-c", "features.hooks=false"],
    ["--disable", "hooks"],
  ])("%s %s refuses", async (...words) => {
    expect(codesOf(await attest(plan, { tamper: added(...words) }))).toEqual(["provider_policy"]);
  });
});
