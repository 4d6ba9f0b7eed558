// A call whose guard was cut off by another process of the same user: a CLI that then runs the call must not end as a success.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { HookDeclaration } from "../src/index.ts";
import { BOTH, CLAUDE, CODEX, CODEX_CODE_MODE, runGuarded, type Site } from "./support/harness.ts";

/** Kills every shell of the run's own PreToolUse handler: the outer `sh -c` and the shim in it. */
function killHandlerShells({ root }: Site): number {
  let killed = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const words = commandLineOf(entry);
    if (!words.includes(root) || !words.includes("s/shim") || !words.includes(" PreToolUse ")) continue;
    // The CLI itself carries the same text in its arguments; its handler's shells start with a shell's name.
    if (!/^\S*(?:sh|bash)\s/.test(words)) continue;
    process.kill(Number(entry), "SIGKILL");
    killed += 1;
  }
  return killed;
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // ended between the listing and the look
  }
}

it.each(BOTH)("$mode: a denial that never reached the CLI ends the run as unenforced", async (column) => {
  let killed = 0;
  const declaration = (site: Site): HookDeclaration => ({
    PreToolUse: [
      {
        hooks: [
          {
            type: "function",
            name: "is cut off at the second call",
            handler: ({ tool_command: command }) => {
              if (!String(command).includes("second")) return undefined;
              killed += killHandlerShells(site);
              return { decision: "block", reason: "not the second" };
            },
          },
        ],
      },
    ],
  });
  const { result, site } = await runGuarded({
    column,
    declaration,
    script: ({ at }) =>
      ["first", "second", "third"].map((name) => ({
        tools: [{ kind: "shell", command: `touch '${at(name)}'` }],
      })),
  });
  expect(killed).toBeGreaterThan(0);
  expect(site.has("first")).toBe(true);
  expect(result.outcome).toBe("unenforced");
  expect(site.has("third")).toBe(false);
});

it("codex: a call that ran because the agent renamed its working directory ends the run as unenforced", async () => {
  const { result, site } = await runGuarded({
    column: CODEX,
    options: () => ({ sandbox: "danger-full-access" }),
    declaration: (site) => ({
      PreToolUse: [
        {
          matcher: "kind:shell",
          hooks: [{ type: "command", command: site.guard("grep -q pwned && exit 2; exit 0") }],
        },
      ],
    }),
    script: ({ project, notes }) => [
      { tools: [{ kind: "shell", command: `mv '${project}' '${project}-away'` }] },
      {
        tools: [
          { kind: "raw", name: "exec_command", input: { cmd: `touch '${notes}/pwned'`, workdir: "/" } },
        ],
      },
      {
        tools: [
          { kind: "raw", name: "exec_command", input: { cmd: `touch '${notes}/third'`, workdir: "/" } },
        ],
      },
    ],
  });
  expect(result.outcome).toBe("unenforced");
  expect(existsSync(`${site.notes}/third`)).toBe(false);
});

it("codex: a sandboxed agent cannot be given a TMPDIR that holds its run directory", async () => {
  const { refusal } = await runGuarded({
    column: CODEX,
    declaration: () => ({ PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] }),
    script: () => [{}],
    options: ({ home }) => ({ env: { TMPDIR: home } }),
  });
  expect(refusal?.issues).toMatchObject([{ code: "run_dir_unsafe" }]);
});

it.each([CODEX, CODEX_CODE_MODE])(
  "$mode: a subagent that renames the working directory and puts it back ends the run as unenforced",
  async (column) => {
    const { result } = await runGuarded({
      column,
      options: () => ({ sandbox: "danger-full-access" }),
      declaration: () => ({ PreToolUse: [{ hooks: [{ type: "function", handler: () => undefined }] }] }),
      script: ({ project, notes }) => [
        {
          tools: [
            {
              kind: "agent",
              prompt: "go",
              script: [
                { tools: [{ kind: "shell", command: `mv '${project}' '${project}-away'` }] },
                {
                  tools: [
                    {
                      kind: "raw",
                      name: "exec_command",
                      input: {
                        cmd: `touch '${notes}/pwned'; mv '${project}-away' '${project}'`,
                        workdir: "/",
                      },
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
    expect(result.outcome).toBe("unenforced");
  },
);

it("claude: a shell guard is asked about every tool that takes a command", async () => {
  const { site, result } = await runGuarded({
    column: CLAUDE,
    options: () => ({ allowedTools: ["Bash", "Monitor"] }),
    declaration: (site) => ({
      PreToolUse: [
        {
          matcher: "kind:shell",
          hooks: [{ type: "command", command: site.guard("grep -q pwned && exit 2; exit 0") }],
        },
      ],
    }),
    script: ({ at }) => [
      {
        tools: [
          {
            kind: "raw",
            name: "Monitor",
            input: {
              command: `touch '${at("pwned")}'; sleep 1`,
              description: "x",
              timeout_ms: 5000,
              persistent: false,
            },
          },
        ],
      },
    ],
  });
  expect(site.has("pwned")).toBe(false);
  expect(result.hooks.denied).toBe(1);
});
