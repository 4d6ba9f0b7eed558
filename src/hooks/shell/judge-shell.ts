// The verdict on one shell command line: why it destroys, or undefined. What cannot be read counts as destroying.

import type { ShellCommand } from "./command.ts";
import { readShell } from "./read-shell.ts";
import { codeSource, describeInline, nameless } from "./rules/code.ts";
import { DATABASES } from "./rules/databases.ts";
import { DEVICES, makeFileSystem, redirects, writesOver } from "./rules/devices.ts";
import { git } from "./rules/git.ts";
import { INFRASTRUCTURE } from "./rules/infrastructure.ts";
import { REMOVING } from "./rules/removing.ts";
import type { Facts, Rule } from "./rules/rule.ts";
import { SYSTEM } from "./rules/system.ts";

const BY_NAME: ReadonlyMap<string, Rule> = new Map(
  Object.entries({ ...REMOVING, ...DEVICES, ...SYSTEM, ...INFRASTRUCTURE, ...DATABASES, git }),
);
const OF_ALL: readonly Rule[] = [redirects, writesOver, nameless, codeSource, makeFileSystem];

/** Levels of text in another language inside text. */
const INLINE_MAX = 3;

export interface Judged {
  /** Program and reason, in words that follow "the command "; undefined when nothing is against it. */
  readonly problem: string | undefined;
  readonly commands: readonly ShellCommand[];
}

export function judgeShell(text: string, facts: Facts, depth = 0): Judged {
  const { commands, problem } = readShell(text, facts);
  for (const command of commands) {
    const found = judgeCommand(command, facts, depth);
    if (found === undefined) continue;
    const name = command.name === "" ? "redirect" : command.name;
    const by = [...command.via, name].join(" → ");
    return { problem: `is not admitted: ${by} ${found}`, commands };
  }
  return { problem, commands };
}

function judgeCommand(command: ShellCommand, facts: Facts, depth: number): string | undefined {
  if (/^git-[a-z]/.test(command.name))
    return judgeCommand(
      { ...command, name: "git", args: [command.name.slice(4), ...command.args] },
      facts,
      depth,
    );
  const own = BY_NAME.get(command.name) ?? BY_NAME.get(command.name.toLowerCase());
  for (const rule of own === undefined ? OF_ALL : [own, ...OF_ALL]) {
    const found = rule(command, facts);
    if (found !== undefined) return found;
  }
  return describeInline(command, facts, (text) =>
    depth >= INLINE_MAX ? "is nested too deep to be read" : withoutSyntax(judgeShell(text, facts, depth + 1)),
  );
}

/** A text of another language is often no shell command at all: only what was seen counts. */
function withoutSyntax({ problem }: Judged): string | undefined {
  return problem?.startsWith("is not admitted") ? `runs what ${problem}` : undefined;
}
