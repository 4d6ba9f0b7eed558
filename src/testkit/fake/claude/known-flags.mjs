// @ts-check
// The flags a fake claude knows; another is an error, as with the real one.

/** @param {string} names @param {"none" | "value" | "optional"} kind */
const all = (names, kind) => names.split(" ").map((name) => [name, kind]);

const NONE =
  "--verbose --include-hook-events --strict-mcp-config --no-session-persistence --disable-slash-commands " +
  "--exclude-dynamic-system-prompt-sections --forward-subagent-text --include-partial-messages --no-chrome --print -p " +
  "--dangerously-skip-permissions --bare --safe-mode --continue --fork-session --replay-user-messages --restricted";
const VALUE =
  "--output-format --input-format --setting-sources --settings --permission-mode --session-id --resume -r --model --max-turns " +
  "--tools --allowedTools --allowed-tools --disallowedTools --disallowed-tools --add-dir --mcp-config " +
  "--append-system-prompt-file --append-system-prompt --append-subagent-system-prompt --autocompact --betas --effort " +
  "--fallback-model --json-schema --max-budget-usd --max-thinking-tokens --name --permission-prompts --permission-prompt-tool " +
  "--system-prompt --system-prompt-file --system-prompt-snapshot --task-budget --thinking";

/** @type {import("../flags.mjs").KnownFlags} */
export const KNOWN_FLAGS = Object.fromEntries([
  ...all(NONE, "none"),
  ...all(VALUE, "value"),
  ["--debug", "optional"],
]);
