#!/usr/bin/env node
import { init, print, RESULT, serve } from "./claude-protocol.mjs";

serve({
  isCanarySilent: true,
  onPrompt: () => {
    init();
    print(RESULT);
    process.stdin.destroy();
  },
});
