#!/usr/bin/env node
import { init, print, RESULT, serve } from "./claude-protocol.mjs";

serve({
  onPrompt: (prompt) => {
    init();
    print({ type: "assistant", message: { content: [{ type: "text", text: `got ${prompt.length}` }] } });
    print({ ...RESULT, result: prompt.slice(0, 1000) });
    process.exitCode = 0;
    process.stdin.destroy();
  },
});
