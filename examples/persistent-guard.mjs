// A persistent guard: asked in one line of JSON, answers in one. Its state lives as long as the run; it ends when its stdin does.
import { createInterface } from "node:readline";

const asked = new Set();

for await (const line of createInterface({ input: process.stdin })) {
  const { id, envelope } = JSON.parse(line);
  const { tool_command: command = "" } = envelope;
  const answer = (word) => process.stdout.write(`${JSON.stringify({ id, ...word })}\n`);

  if (/\brm\b|-delete\b/.test(command)) answer({ block: "deleting files is not allowed in this project" });
  else if (asked.has(command))
    answer({ answer: { hookSpecificOutput: { additionalContext: "you ran this before" } } });
  else answer({});
  asked.add(command);
}
