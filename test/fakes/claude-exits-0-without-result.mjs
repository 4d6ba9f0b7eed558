#!/usr/bin/env node
import { init, serve } from "./claude-protocol.mjs";

serve({
  onPrompt: () => {
    init();
    process.stdin.destroy();
  },
});
