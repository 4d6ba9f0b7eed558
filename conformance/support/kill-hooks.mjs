// node kill-hooks.mjs ROOT EVENT: from the first line on stdin, kills every handler shell of EVENT below ROOT as soon as it is there.

import { readdirSync, readFileSync } from "node:fs";

const [, , root, event] = process.argv;

function killHandlers() {
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    let words = "";
    try {
      words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      continue; // ended meanwhile
    }
    // The agent's own arguments hold the same text; a handler's shell starts with a shell's name.
    if (!/^\S*sh\0/.test(words) || !words.includes(root) || !words.includes("s/shim")) continue;
    // The first process of a PID namespace is a shell with the agent's arguments.
    if (!words.includes(event) || words.includes("\0bridle-init\0")) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // ended meanwhile
    }
  }
}

process.stdin.once("data", () => {
  const loop = () => {
    killHandlers();
    setImmediate(loop);
  };
  loop();
});
