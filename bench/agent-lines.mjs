// Lines as claude and codex print them, of a given length: half of them the model's words, half the output of tools. The text is source code
// with its line ends, quotes and some letters beyond ASCII, because JSON.parse is fast on text that needs no unescaping.

const TEXT = `export function readLines(path: string): string[] {
\tconst text = readFileSync(path, "utf8"); // « as it stands »
\tif (text === "") return [];
\treturn text.split("\\n").map((line) => line.trimEnd());
}

`;
const SESSION = "0190b1f0-0000-7000-8000-000000000000";
/** Below it the frame of a line has what must be there and no more. */
const FULL_FRAME_BYTES = 1024;

/** Text whose line is about so many bytes long. @param {(text: string) => object} lineOf @param {number} bytes */
function fill(lineOf, bytes) {
  const lengthOf = (text) => Buffer.byteLength(JSON.stringify(lineOf(text)));
  const frame = lengthOf("");
  const perCharacter = (lengthOf(TEXT) - frame) / TEXT.length;
  const length = Math.max(1, Math.round((bytes - frame) / perCharacter));
  return JSON.stringify(lineOf(TEXT.repeat(Math.ceil(length / TEXT.length)).slice(0, length)));
}

const claudeWords = (bytes) => (text) => {
  const content = [{ type: "text", text }];
  if (bytes < FULL_FRAME_BYTES)
    return { type: "assistant", message: { role: "assistant", content }, session_id: SESSION };
  const usage = {
    input_tokens: 3,
    cache_creation_input_tokens: 1_204,
    cache_read_input_tokens: 18_332,
    output_tokens: 211,
    service_tier: "standard",
  };
  const message = {
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: "claude",
    content,
    stop_reason: null,
    usage,
  };
  return {
    type: "assistant",
    message,
    parent_tool_use_id: null,
    session_id: SESSION,
    uuid: SESSION,
  };
};

const claudeTool = (bytes) => (text) => {
  const content = [{ type: "tool_result", tool_use_id: "toolu_01", content: text }];
  if (bytes < FULL_FRAME_BYTES) return { type: "user", message: { role: "user", content } };
  return {
    type: "user",
    message: { role: "user", content },
    parent_tool_use_id: null,
    session_id: SESSION,
    uuid: SESSION,
    tool_result_meta: [
      { id: "toolu_01", permission_decision: { decision: "accept", source: "config", reason_type: "rule" } },
    ],
  };
};

const codexWords = () => (text) => ({
  type: "item.completed",
  item: { id: "item_1", type: "agent_message", text },
});
const codexTool = () => (text) => ({
  type: "item.completed",
  item: {
    id: "item_2",
    type: "command_execution",
    command: "/bin/bash -lc 'cat src/read.ts'",
    aggregated_output: text,
    exit_code: 0,
    status: "declined", // one event a line: it was not seen to start
  },
});

const KINDS = { claude: [claudeWords, claudeTool], codex: [codexWords, codexTool] };

/**
 * At least `bytes` of lines of `lineBytes` each, by turns the two kinds.
 * @param {{ provider: "claude" | "codex", lineBytes: number, bytes: number }} options
 * @returns {{ text: Buffer, lines: number }}
 */
export function agentLines({ provider, lineBytes, bytes }) {
  const pair = Buffer.from(KINDS[provider].map((kind) => `${fill(kind(lineBytes), lineBytes)}\n`).join(""));
  const pairs = Math.ceil(bytes / pair.length);
  return { text: Buffer.concat(Array(pairs).fill(pair)), lines: pairs * 2 };
}
