#!/usr/bin/env node
import { fireHook, init, print, RESULT, serve } from "./claude-protocol.mjs";

serve({
  onPrompt: async (prompt) => {
    init();
    const { code, stdout } = await fireHook("PreToolUse", {
      tool_name: "Bash",
      tool_input: { command: prompt },
    });
    print({ ...RESULT, result: JSON.stringify({ code, stdout }) });
    process.stdin.destroy();
  },
});
