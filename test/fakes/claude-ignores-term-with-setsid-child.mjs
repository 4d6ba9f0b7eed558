#!/usr/bin/env node
import { spawn } from "node:child_process";
import { print, serve } from "./claude-protocol.mjs";

process.on("SIGTERM", () => {});
setInterval(() => {}, 1_000_000);
serve({
  onPrompt: () => {
    const child = spawn("/bin/sleep", ["1000"], { detached: true, stdio: "ignore" });
    print({ type: "assistant", message: { content: [{ type: "text", text: String(child.pid) }] } });
  },
});
// The interrupt of the control channel is ignored too.
process.exit = () => {};
