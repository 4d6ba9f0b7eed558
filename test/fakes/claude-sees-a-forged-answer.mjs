#!/usr/bin/env node
import { fireHook, init, print, serve } from "./claude-protocol.mjs";

const sees = (event, exitCode) =>
  print({
    type: "system",
    subtype: "hook_response",
    hook_event: event,
    exit_code: exitCode,
    outcome: "success",
  });

// The second answer is nobody's, and no result ever follows: the run must not wait for one.
serve({
  onPrompt: async (prompt) => {
    init();
    const { code } = await fireHook("PreToolUse", { tool_name: "Bash", tool_input: { command: prompt } });
    sees("PreToolUse", code);
    sees("PreToolUse", 0);
  },
});
