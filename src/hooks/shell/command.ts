// One command of a text as a shell would run it: the words after expansion, what it reads, where it stands. Data only.

export interface Redirection {
  readonly operator: string;
  readonly targets: readonly string[];
}

export interface CommandInput {
  /** The commands before it in the pipeline, the nearest last. */
  readonly from: readonly ShellCommand[];
  /** What a here-document or here-string hands it. */
  readonly text?: string;
}

export interface ShellCommand {
  /** Program name without its folders; empty for a redirect that stands alone. */
  readonly name: string;
  /** Fields, with marks for what is open (`fields.ts`). */
  readonly args: readonly string[];
  readonly redirections: readonly Redirection[];
  readonly input: CommandInput;
  /** Each directory in which it may stand. */
  readonly directories: readonly string[];
  /** Names of the programs and constructs that start it, the outermost first: `sudo`, `xargs`, `find`. */
  readonly via: readonly string[];
  /** Commands inside `$(…)` and `<(…)` of its words. */
  readonly substitutions: readonly ShellCommand[];
}

/** What a shell command says; `problem` when it could not be read to its end, in words that follow "the command ". */
export interface ShellReading {
  readonly commands: readonly ShellCommand[];
  readonly problem?: string;
}

/** Options of a command: short ones letter by letter, long ones without a value; what follows `--` is none. */
export function optionsOf(args: readonly string[]): { short: string; long: string[]; rest: string[] } {
  let short = "";
  const long: string[] = [];
  const rest: string[] = [];
  let isEnded = false;
  for (const arg of args) {
    if (isEnded || !arg.startsWith("-") || arg === "-") rest.push(arg);
    else if (arg === "--") isEnded = true;
    else if (arg.startsWith("--")) long.push(arg.replace(/=.*$/s, ""));
    else short += arg.slice(1);
  }
  return { short, long, rest };
}
