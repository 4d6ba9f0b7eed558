#!/usr/bin/env node
import { serve } from "./claude-protocol.mjs";

serve({
  onPrompt: () => process.exit(0),
  change: { get_hooks_listing: (truth) => ({ ...truth, bareMode: true }) },
});
