#!/usr/bin/env node
import { print, RESULT, serve } from "./claude-protocol.mjs";

serve({
  onPrompt: () => {
    print({ type: "assistant", message: { content: [{ type: "text", text: "x".repeat(2_000_000) }] } });
    print(RESULT);
    process.stdin.destroy();
  },
});
