// Denies shell commands that destroy. It reads the text as a shell would and fails closed: what cannot be read is denied. A gate, not a
// sandbox: it sees what a command says, not what the programs it starts do (docs/HOOKS.md).

import { statSync } from "node:fs";
import { homedir } from "node:os";
import type { FunctionEntry } from "../declaration/types.ts";
import { deny } from "../profile/answer.ts";
import { checkOptions, compilePatterns, type Pattern } from "./options.ts";
import { readCall, shellTextsOf } from "./read-call.ts";
import { showField } from "./shell/fields.ts";
import { judgeShell } from "./shell/judge-shell.ts";

export interface DenyDestructiveShellOptions {
  /** RE2 expressions, searched in the text and in each command of it as it would run (`rm -rf build`). @default [] */
  readonly extra?: readonly string[];
  /** RE2 expressions; a command line that one of them matches whole is not looked at. Goes before `extra`. @default [] */
  readonly allow?: readonly string[];
}

const NAME = "denyDestructiveShell";

/**
 * A guard for `PreToolUse` (and `PermissionRequest`): denies `rm -rf` on broad targets, `git reset --hard`, downloads piped into a shell and
 * more, through wrappers, quotes, variables and nested shells. Throws `TypeError` for options that cannot be used.
 * @example { PreToolUse: [{ hooks: [denyDestructiveShell({ allow: ["git clean -fdx build"] })] }] }
 */
export function denyDestructiveShell(options: DenyDestructiveShellOptions = {}): FunctionEntry {
  checkOptions(NAME, options, ["extra", "allow"]);
  const extra = compilePatterns(`${NAME}: extra`, options.extra);
  const allow = compilePatterns(`${NAME}: allow`, options.allow);
  return {
    type: "function",
    name: NAME,
    handler: (envelope) => {
      const { tool, command, kind, input } = readCall(envelope);
      if (command === undefined && kind === "shell")
        return deny(envelope, `${NAME}: a shell call without tool_command cannot be read`);
      const texts = command === undefined ? shellTextsOf({ tool, kind, input }) : [command];
      for (const text of texts) {
        const problem = judge(
          text,
          { cwd: envelope.cwd, workdir: input.workdir ?? input.cwd },
          { extra, allow },
        );
        if (problem !== undefined) return deny(envelope, `${NAME}: the command ${problem}`);
      }
      return undefined;
    },
  };
}

function judge(
  command: string,
  { cwd, workdir }: { cwd: string; workdir: unknown },
  { extra, allow }: { extra: readonly Pattern[]; allow: readonly Pattern[] },
): string | undefined {
  if (allow.some(({ compiled }) => compiled.matcher(command.trim()).matches())) return undefined;
  const start = typeof workdir === "string" && workdir !== "" ? { start: workdir } : {};
  const { problem, commands } = judgeShell(command, { cwd, home: homedir(), holdsText, ...start });
  if (problem !== undefined) return problem;
  const texts = [command, ...commands.map(({ name, args }) => [name, ...args].map(showField).join(" "))];
  const hit = extra.find(({ compiled }) => texts.some((text) => compiled.matcher(text).find()));
  return hit === undefined ? undefined : `matches ${JSON.stringify(hit.source)} of extra`;
}

function holdsText(path: string): boolean {
  try {
    const found = statSync(path);
    return found.isFile() && found.size > 0;
  } catch {
    return false; // not there, or not to be seen: nothing that could be emptied
  }
}
