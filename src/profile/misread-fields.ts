// Why a guard may never block: which fields its script reads that no envelope has. A look at words, not at meaning: it explains a guard
// that was seen not to block, and judges none.

interface Misread {
  /** Group 1, when there is one, is what is shown. */
  readonly sign: RegExp;
  readonly shown: (found: RegExpExecArray) => string;
  readonly instead: (found: RegExpExecArray) => string;
}

/** What an envelope has instead of what other hosts hand to a guard. */
const MISREAD: readonly [Misread, ...Misread[]] = [
  {
    // input.command, args["path"], .input.command of jq, input.get("command")
    sign: /\b(input|args|arguments|params|parameters|payload)(?:["']\])?(?:\??\.|\[["'])(?:get\(["'])?(command|cmd|file_path|filePath|path|content|url)\b/,
    shown: ([, object, field]) => `${object}.${field}`,
    instead: ([, , field]) => `tool_input.${CANONICAL[String(field)] ?? field}`,
  },
  {
    sign: /\b(tool_args|tool_arguments|tool_params|toolArgs|toolInput|toolParams|tool_parameters)\b/,
    shown: ([, field]) => String(field),
    instead: () => "tool_input",
  },
  {
    sign: /\b(toolName|tool_id)\b|["'.](tool)["'\]\s)]/,
    shown: ([, field, other]) => String(field ?? other),
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

/** `input.command, the envelope has tool_input.command`: the commonest mistake. Undefined when the text reads what there is, or neither. */
export function findMisreadInput(text: string): string | undefined {
  const [{ sign, shown, instead }] = MISREAD;
  const found = READ_RIGHT.test(text) ? null : sign.exec(text);
  return found === null ? undefined : `${shown(found)}, the envelope has ${instead(found)}`;
}

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
