// Looks at the files that an imported argv names and warns of what would make it fail, or never block, here. Reads; runs nothing.

import { access, constants, open, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { findMisreadInput } from "../profile/misread-fields.ts";

export interface Machine {
  /** Relative words are resolved against it. */
  readonly root: string;
  readonly home: string;
  /** Of the bundle the file belongs to, when it belongs to one. */
  readonly pluginRoot: string | undefined;
  readonly path: string;
}

/** How much of a script is looked at, in bytes. */
const SCRIPT_HEAD_BYTES = 256 * 1024;

export async function inspectCommand(argv: readonly string[], machine: Machine): Promise<string[]> {
  const warnings: string[] = [];
  const [program = "", ...words] = argv.map((word) => expand(word, machine));
  if (argv.some((word) => word.includes("{plugin_root}")))
    warnings.push(
      machine.pluginRoot === undefined
        ? "{plugin_root} has no value outside a plugin bundle: a run refuses this entry until it has one"
        : `{plugin_root} is ${machine.pluginRoot} now: a run that is not told refuses this entry`,
    );
  if (!program.includes("/")) {
    if (!(await isOnPath(program, machine))) warnings.push(missing(program));
  } else if (!program.includes("{")) warnings.push(...(await inspectProgram(resolve(machine.root, program))));
  for (const word of [program, ...words]) {
    if (word.startsWith("-") || word.includes("{") || !/[/.]/.test(word)) continue;
    const text = await readHead(resolve(machine.root, word));
    if (text !== undefined && !text.includes("\0")) warnings.push(...(await inspectScript(text, machine)));
  }
  return [...new Set(warnings)];
}

function expand(word: string, { root, home, pluginRoot }: Machine): string {
  return word
    .replaceAll("{project_dir}", root)
    .replaceAll("{home}", home)
    .replaceAll("{plugin_root}", pluginRoot ?? "{plugin_root}");
}

function missing(program: string): string {
  return `${program} is not on PATH: the hook cannot start, and on a gate that denies`;
}

async function isOnPath(program: string, { path }: Machine): Promise<boolean> {
  for (const folder of path.split(delimiter).filter((one) => isAbsolute(one)))
    if (await canExecute(join(folder, program))) return true;
  return false;
}

function canExecute(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function inspectProgram(path: string): Promise<string[]> {
  const text = await readHead(path);
  if (text === undefined) return [`${path} is not there`];
  const warnings: string[] = [];
  if (!(await canExecute(path))) warnings.push(`${path} has no exec bit: the hook cannot start`);
  if (text.startsWith("\x7fELF")) return warnings;
  const [first = ""] = text.split("\n");
  if (!first.startsWith("#!")) warnings.push(`${path} has no #! line: what runs it differs between systems`);
  else if (first.endsWith("\r")) warnings.push(`${path} has a CR in line 1: its interpreter is not found`);
  return warnings;
}

/** Undefined when it is no regular file that can be read. */
async function readHead(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return undefined;
    const file = await open(path, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SCRIPT_HEAD_BYTES), 0, SCRIPT_HEAD_BYTES, 0);
      return buffer.toString("latin1", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // what cannot be looked at is not there for this report; the program itself is reported
  }
}

const FIELDS: readonly { readonly sign: RegExp; readonly warning: string }[] = [
  {
    sign: /\btranscript_path\b/,
    warning: "the script reads transcript_path: a file of claude's own format, which codex does not write",
  },
  {
    sign: /\bsession_id\b/,
    warning:
      "the script reads session_id: it is Bridle's own here; the agent's is provider_session_id (Dv1-1)",
  },
  {
    sign: /\b(?:total_cost_usd|num_turns)\b/,
    warning: "the script reads total_cost_usd or num_turns: not every agent sends them",
  },
];

async function inspectScript(text: string, machine: Machine): Promise<string[]> {
  const warnings = FIELDS.filter(({ sign }) => sign.test(text)).map(({ warning }) => warning);
  for (const tool of ["jq", "uv"]) {
    const isUsed = new RegExp(`(?:^|[\\s|;&($\`/"'])${tool}(?=[\\s"'])`, "m").test(text);
    if (isUsed && !(await isOnPath(tool, machine)))
      warnings.push(
        `the script uses ${tool}, which is not on PATH: its answer may become "let through" or a failure`,
      );
  }
  const misread = findMisreadInput(text);
  if (misread !== undefined) warnings.push(`the script reads ${misread}: it may never block`);
  return warnings;
}
