#!/usr/bin/env node
import { serve } from "./claude-protocol.mjs";

// Gone as soon as the preflight is answered.
serve({
  onPrompt: () => {},
  change: {
    get_hooks_listing: (truth) => {
      setImmediate(() => {
        process.stdin.pause();
        process.stderr.write("out of order\n", () => process.exit(1));
      });
      return truth;
    },
  },
});
