// A call whose guard was cut off by another process of the same user: a CLI that then runs the call must not end as a success.

import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { HookDeclaration } from "../src/index.ts";
import { BOTH, runGuarded, type Site } from "./support/harness.ts";

/** Kills every shell of the run's own PreToolUse handler: the outer `sh -c` and the shim in it. */
function killHandlerShells({ root }: Site): number {
  let killed = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const words = commandLineOf(entry);
    if (!words.includes(root) || !words.includes("s/shim") || !words.includes(" PreToolUse ")) continue;
    // The CLI itself carries the same text in its arguments; its handler's shells start with a shell's name. So does the first process of
    // a PID namespace.
    if (!/^\S*(?:sh|bash)\s/.test(words) || words.includes(" bridle-init ")) continue;
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
