// A guard: reads the envelope on stdin, exits 2 to deny. The reason on stderr goes to the model.
import { text } from "node:stream/consumers";

const { tool_command: command = "" } = JSON.parse(await text(process.stdin));

if (/\brm\b|-delete\b/.test(command)) {
  console.error("deleting files is not allowed in this project");
  process.exit(2);
}
