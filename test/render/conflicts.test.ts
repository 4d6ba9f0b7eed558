import { describe, expect, test } from "vitest";
import { adapterFor } from "../../src/render/registry.ts";

const LONG = {
  claude:
    "bare safe-mode settings setting-sources plugin-dir plugin-url agents agent mcp-config strict-mcp-config session-id resume continue fork-session permission-mode dangerously-skip-permissions allow-dangerously-skip-permissions permission-prompt-tool output-format input-format print verbose include-hook-events replay-user-messages init-only worktree model max-turns tools allowedTools allowed-tools disallowedTools disallowed-tools add-dir append-system-prompt-file no-session-persistence help version",
  codex:
    "dangerously-bypass-hook-trust dangerously-bypass-approvals-and-sandbox yolo full-auto sandbox ask-for-approval profile config enable disable ignore-user-config ignore-rules strict-config ephemeral json cd add-dir model worktree remote oss local-provider last all help version",
} as const;
const SHORT = { claude: "r c p w h v", codex: "s a p c C m w h V" } as const;
const ENV = {
  claude:
    "BASH_ENV ENV SHELLOPTS LD_PRELOAD NODE_OPTIONS BUN_INSPECT IFS BRIDLE_RUN_MARKER CLAUDE_CODE_SIMPLE CLAUDE_CONFIG_DIR CLAUDECODE SHELL",
  codex: "BASH_ENV ENV LD_LIBRARY_PATH NODE_OPTIONS BRIDLE_RUN_ID CODEX_HOME CODEX_SQLITE_HOME ZDOTDIR SHELL",
} as const;

describe.each(["claude", "codex"] as const)("%s", (provider) => {
  const codes = (extraArgs: string[]) =>
    adapterFor(provider)
      .checkOptions({ cwd: "/work", extraArgs }, {})
      .map(({ code }) => code);

  test.each(LONG[provider].split(" "))("--%s is refused alone, with a value and shortened", (flag) => {
    const forms = [`--${flag}`, `--${flag}=x`, ...(flag.length > 5 ? [`--${flag.slice(0, -1)}`] : [])];
    expect(forms.map((form) => codes([form]))).toEqual(forms.map(() => ["argument_conflict"]));
  });

  test.each(SHORT[provider].split(" "))("-%s is refused alone and with more behind it", (flag) => {
    expect([codes([`-${flag}`]), codes([`-${flag}x`]), codes([`-${flag}=x`])]).toEqual([
      ["argument_conflict"],
      ["argument_conflict"],
      ["argument_conflict"],
    ]);
  });

  test.each(["--", "-", "a prompt", ""])("%j would be a prompt or end the options and is refused", (word) => {
    expect(codes([word])).toContain("argument_conflict");
  });

  test("a word behind a flag that has its value already is refused, because it would be a prompt", () => {
    expect(codes([provider === "claude" ? "--effort=high" : "--color=never", "do evil"])).toEqual([
      "argument_conflict",
    ]);
  });

  test("a flag with its value is fine", () => {
    expect(codes(provider === "claude" ? ["--effort", "high"] : ["--color", "never"])).toEqual([]);
  });

  test("a NUL is refused", () => {
    expect(codes(["--debug=\0"])).toEqual(["option_invalid"]);
  });

  test.each(ENV[provider].split(" "))("the variable %s is refused", (name) => {
    const issues = adapterFor(provider).checkOptions({ cwd: "/work" }, { [name]: "x" });
    expect(issues).toMatchObject([{ code: "argument_conflict", path: `env.${name}` }]);
  });

  test.each(adapterFor(provider).credentialEnv.filter((name) => name !== "OPENAI_API_KEY"))(
    "the credential %s is fine",
    (name) => {
      expect(adapterFor(provider).checkOptions({ cwd: "/work" }, { [name]: "x" })).toEqual([]);
    },
  );

  test("hooks cannot be admitted by configuration", () => {
    const issues = adapterFor(provider).checkOptions({ cwd: "/work", providerConfig: { hooks: {} } }, {});
    expect(issues).toMatchObject([{ code: "argument_conflict", path: "providerConfig.hooks" }]);
  });

  test.each(["--version", "", "not-a-uuid"])("31: %j is no session id", (resume) => {
    const issues = adapterFor(provider).checkOptions({ cwd: "/work", resume }, {});
    expect(issues.map(({ code }) => code)).toContain("option_invalid");
  });
});
