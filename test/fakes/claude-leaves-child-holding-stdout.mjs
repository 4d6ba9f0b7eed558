#!/usr/bin/env node
import { spawn } from "node:child_process";
import { print, RESULT, serve } from "./claude-protocol.mjs";

serve({
  onPrompt: () => {
    const { pid } = spawn("/bin/sleep", ["1000"], { stdio: ["ignore", "inherit", "ignore"] });
    print({ ...RESULT, result: String(pid) });
    process.exit(0);
  },
});
