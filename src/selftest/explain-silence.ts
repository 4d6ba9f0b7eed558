// Why a guard may never block: which fields its script reads that no envelope has. A look at words, not at meaning: it explains a guard
// that was seen not to block, and judges none.

import { open } from "node:fs/promises";

/** Most that is read of one script, in bytes. */
const SCRIPT_BYTES = 256 * 1024;

/** What an envelope has instead of what other hosts hand to a guard. */
const MISREAD: readonly {
  /** Group 1, when there is one, is what is shown. */
  readonly sign: RegExp;
  readonly shown: (found: RegExpExecArray) => string;
  readonly instead: (found: RegExpExecArray) => string;
}[] = [
  {
    // input.command, args["path"], .input.command of jq, input.get("command")
    sign: /\b(input|args|arguments|params|parameters|payload)(?:["']\])?(?:\??\.|\[["'])(?:get\(["'])?(command|cmd|file_path|filePath|path|content|url)\b/,
    shown: ([, object, field]) => `${object}.${field}`,
    instead: ([, , field = ""]) => `tool_input.${CANONICAL[field] ?? field}`,
  },
  {
    sign: /\b(tool_args|tool_arguments|tool_params|toolArgs|toolInput|toolParams|tool_parameters)\b/,
    shown: ([, field = ""]) => field,
    instead: () => "tool_input",
  },
  {
    sign: /\b(toolName|tool_id)\b|["'.](tool)["'\]\s)]/,
    shown: ([, field, other]) => field ?? other ?? "",
    instead: () => "tool_name",
  },
  {
    sign: /\$\{?((?:CLAUDE_)?TOOL_(?:INPUT|ARGS|NAME|COMMAND))\b|\b(?:environ|env)\b[^\n]{0,12}?\b((?:CLAUDE_)?TOOL_(?:INPUT|ARGS|NAME|COMMAND))\b/,
    shown: ([, field, other]) => `the variable ${field ?? other}`,
    instead: () => "tool_input, on stdin",
  },
  {
    sign: /(\$\{?1\b|\$@|\bsys\.argv\b|\bprocess\.argv\b)/,
    shown: ([, word]) => `its arguments (${word})`,
    instead: () => "tool_input, on stdin",
  },
];

const CANONICAL: Readonly<Record<string, string>> = { cmd: "command", filePath: "file_path" };

/** Fields by which a guard sees what a tool is about to do. */
const READ_RIGHT = /\btool_(?:input|command|paths)\b/;
const PROMPT_RIGHT = /\bprompt\b/;

/** `it reads input.command, the envelope has tool_input.command`; undefined when the words give no hint. */
export function explainSilence(text: string, { isTool }: { isTool: boolean }): string | undefined {
  if ((isTool ? READ_RIGHT : PROMPT_RIGHT).test(text)) return undefined;
  if (!isTool) return "it does not read prompt";
  for (const { sign, shown, instead } of MISREAD) {
    const found = sign.exec(text);
    if (found !== null) return `it reads ${shown(found)}, the envelope has ${instead(found)}`;
  }
  return "it reads none of tool_input, tool_command and tool_paths";
}

/** The text of the scripts among files; native programs are left out. Never throws. */
export async function readScripts(paths: readonly string[]): Promise<string> {
  const texts = await Promise.all(paths.map(readScript));
  return texts.filter((text) => text !== undefined).join("\n");
}

async function readScript(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SCRIPT_BYTES), 0, SCRIPT_BYTES, 0);
      const bytes = buffer.subarray(0, bytesRead);
      return bytes.includes(0) ? undefined : bytes.toString("utf8");
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // what cannot be read gives no hint; whether the guard runs is told by its answers
  }
}
