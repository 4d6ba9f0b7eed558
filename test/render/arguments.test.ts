import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import type { CompiledEntry } from "../../src/compiler/plan.ts";
import type { EventName } from "../../src/profile/events.ts";
import { trustHash } from "../../src/render/codex/hooks.ts";
import type { RunOptions } from "../../src/render/provider.ts";
import { adapterFor } from "../../src/render/registry.ts";
import { makeContext, makePlan, SESSION } from "./support.ts";

const render = (provider: "claude" | "codex", options: Partial<RunOptions> = {}) =>
  adapterFor(provider).materialise(makePlan(provider), makeContext(options));

const OUTCOMES =
  "; case $? in 90) exit 0 ;; 2) exit 2 ;; *) echo 'bridle: guard failed; denied' >&2; exit 2 ;; esac";
const CLAUDE_GATE = `( set -- PreToolUse 65 GATE '/run/r'; command . '/run/r/s/shim' || exit 1 )${OUTCOMES}`;
const CODEX_GATE = `/bin/sh '/run/r/s/shim' PreToolUse 65 GATE${OUTCOMES}`;

describe("claude", () => {
  const BARE = [
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--include-hook-events",
    "--setting-sources=",
    "--strict-mcp-config",
    "--settings=/run/r/settings.json",
    "--permission-mode=default",
    `--session-id=${SESSION}`,
    "--no-session-persistence",
  ];

  test("argv without any option", () => {
    expect(render("claude").argv).toEqual(BARE);
  });

  test.each<[Partial<RunOptions>, string]>([
    [{ model: "m" }, "--model=m"],
    [{ permissionMode: "plan" }, "--permission-mode=plan"],
    [{ maxTurns: 3 }, "--max-turns=3"],
    [{ tools: ["Bash", "Read"] }, "--tools=Bash,Read"],
    [{ allowedTools: ["Bash(ls:*)"] }, "--allowedTools=Bash(ls:*)"],
    [{ disallowedTools: ["Edit"] }, "--disallowedTools=Edit"],
    [{ addDirs: ["/d"] }, "--add-dir=/d"],
    [{ resume: SESSION }, `--resume=${SESSION}`],
    [{ mcpServers: {} }, "--mcp-config=/run/r/mcp.json"],
    [{ instructions: "x" }, "--append-system-prompt-file=/run/r/instructions.md"],
    [{ extraArgs: ["--debug"] }, "--debug"],
  ])("%j adds %s", (options, arg) => {
    expect(render("claude", options).argv).toContain(arg);
  });

  test("an empty list takes no flag and swallows no other", () => {
    expect(render("claude", { allowedTools: [], disallowedTools: [], addDirs: [] }).argv).toEqual(BARE);
  });

  test("resume drops the session id", () => {
    expect(render("claude", { resume: SESSION }).argv.join(" ")).not.toContain("--session-id");
  });

  test("settings hold one handler an event, and block on failure on gates only", () => {
    const { files } = render("claude");
    expect(files.map(({ path, mode }) => [path, mode])).toEqual([["settings.json", 0o600]]);
    expect(JSON.parse(files[0]?.content ?? "")).toEqual({
      hooks: {
        PreToolUse: [{ hooks: [{ type: "command", command: CLAUDE_GATE, timeout: 70, onFailure: "block" }] }],
        Stop: [
          {
            hooks: [
              {
                type: "command",
                command: "( set -- Stop 65 OTHER '/run/r'; command . '/run/r/s/shim' || exit 1 ) || exit 0",
                timeout: 70,
              },
            ],
          },
        ],
      },
    });
  });

  test("ambient deny and ask rules are in the settings", () => {
    const { files } = render("claude", { denyRules: { deny: ["Bash"], ask: ["Edit"] } });
    expect(JSON.parse(files[0]?.content ?? "").permissions).toEqual({ deny: ["Bash"], ask: ["Edit"] });
  });

  test("a caller's settings never replace our hooks", () => {
    const { files } = render("claude", { providerConfig: { hooks: {}, language: "de" } });
    const settings = JSON.parse(files[0]?.content ?? "");
    expect([Object.keys(settings.hooks), settings.language]).toEqual([["PreToolUse", "Stop"], "de"]);
  });

  test("26: an MCP secret is in a 0600 file and not in argv", () => {
    const { argv, files } = render("claude", {
      mcpServers: { a: { url: "u", headers: { Authorization: "s3cret" } } },
    });
    expect(argv.join(" ")).not.toContain("s3cret");
    expect(files.find(({ content }) => content.includes("s3cret"))?.mode).toBe(0o600);
  });

  test("a version that ignores onFailure refuses gates", () => {
    expect(adapterFor("claude").plan(makePlan("claude", "2.1.294"))).toMatchObject([
      { code: "provider_unsupported" },
    ]);
  });

  test.each(["2.1.295", "2.2.0", "3.0.0", "2.1.1000"])("version %s takes gates", (version) => {
    expect(adapterFor("claude").plan(makePlan("claude", version))).toEqual([]);
  });
});

describe("codex", () => {
  /** The values of -c by key. */
  const overrides = (argv: readonly string[]) =>
    Object.fromEntries(
      argv.flatMap((word, index) => {
        if (argv[index - 1] !== "-c") return [];
        const at = word.indexOf("=");
        return [[word.slice(0, at), parse(`v=${word.slice(at + 1)}`).v]];
      }),
    );

  const ENTRY = { event: "PreToolUse", matcher: undefined } as CompiledEntry;
  const guarded = (matcher: string | undefined, options: Partial<RunOptions> = {}) =>
    adapterFor("codex").materialise(
      { ...makePlan("codex"), entries: [{ ...ENTRY, matcher }] },
      makeContext(options),
    ).argv;

  test.each([undefined, "kind:shell", "Bash", "^Ba"])(
    "a shell guard (%s) leaves the shell without a terminal, also in the preflight",
    (matcher) => {
      expect(guarded(matcher).join(" ")).toContain("--disable unified_exec_tty");
      const { preflightArgv = [] } = adapterFor("codex").materialise(
        { ...makePlan("codex"), entries: [{ ...ENTRY, matcher }] },
        makeContext(),
      );
      expect(preflightArgv.join(" ")).toContain("--disable unified_exec_tty");
    },
  );

  test.each(["kind:mcp", "apply_patch"])("a guard of something else (%s) does not", (matcher) => {
    expect(guarded(matcher).join(" ")).not.toContain("unified_exec_tty");
  });

  test("nor does a shell guard when the caller admits it", () => {
    expect(guarded(undefined, { interactiveShell: true }).join(" ")).not.toContain("unified_exec_tty");
  });

  test("the session is kept on disk for a PreToolUse guard alone", () => {
    const argvOf = (events: EventName[]) =>
      adapterFor("codex").materialise({ ...makePlan("codex"), events }, makeContext()).argv;
    expect(argvOf(["PreToolUse", "Stop"])).not.toContain("--ephemeral");
    expect(argvOf(["Stop"])).toContain("--ephemeral");
  });

  test("argv without any option", () => {
    const { argv } = render("codex");
    expect(argv.filter((word, index) => word !== "-c" && argv[index - 1] !== "-c")).toEqual([
      "exec",
      "--json",
      "--skip-git-repo-check",
      "--ignore-rules",
      "--ignore-user-config",
      "--strict-config",
      "--enable",
      "skip_host_skill_discovery",
      "--disable",
      "plugins",
      "--disable",
      "apps",
      "--disable",
      "remote_plugin",
      "--sandbox=workspace-write",
      "--cd=/work",
      "-",
    ]);
  });

  test("its overrides read back as TOML say what was meant", () => {
    const hash = trustHash("PreToolUse", { command: CODEX_GATE, timeout: 70 });
    const { hooks, ...rest } = overrides(render("codex").argv);
    expect(rest).toEqual({
      "features.hooks": true,
      projects: { "/work": { trust_level: "untrusted" } },
      web_search: "disabled",
      notify: [],
      "analytics.enabled": false,
      "skills.include_instructions": false,
    });
    expect(hooks).toMatchObject({
      PreToolUse: [{ hooks: [{ type: "command", command: CODEX_GATE, timeout: 70 }] }],
      state: { "/<session-flags>/config.toml:pre_tool_use:0:0": { trusted_hash: hash } },
    });
  });

  test("the preflight gets the same overrides as the run", () => {
    const { argv, preflightArgv = [] } = render("codex", { providerConfig: { model_verbosity: "low" } });
    expect(preflightArgv[0]).toBe("app-server");
    expect(overrides(preflightArgv)).toEqual(overrides(argv));
  });

  test.each<[Partial<RunOptions>, string]>([
    [{ model: "m" }, "--model=m"],
    [{ sandbox: "read-only" }, "--sandbox=read-only"],
    [{ addDirs: ["/d"] }, "--add-dir=/d"],
    [{ resume: SESSION }, SESSION],
    [{ extraArgs: ["--color=never"] }, "--color=never"],
  ])("%j adds %s", (options, arg) => {
    expect(render("codex", options).argv).toContain(arg);
  });

  test("the prompt always comes over stdin, last", () => {
    expect(render("codex", { resume: SESSION, extraArgs: ["--color=never"] }).argv.at(-1)).toBe("-");
  });

  test("a kept session is not ephemeral", () => {
    expect(render("codex", { keepSession: true }).argv).not.toContain("--ephemeral");
  });

  test("an MCP secret is in a 0600 file that reads back as TOML, and not in argv", () => {
    const server = { command: "c", env: { KEY: 's"3\ncret' }, args: ["a"] };
    const { argv, files } = render("codex", { mcpServers: { "a.b": server } });
    expect(argv.join(" ")).not.toContain("cret");
    expect(files[0]?.mode).toBe(0o600);
    expect(parse(files[0]?.content ?? "")).toEqual({
      mcp_servers: { "a.b": { ...server, env: { ...server.env, BRIDLE_RUN_MARKER: "mark" } } },
    });
  });

  test("the bypass flag is never rendered", () => {
    expect(render("codex").argv.join(" ")).not.toContain("bypass");
  });
});
