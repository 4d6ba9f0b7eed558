#!/usr/bin/env node
// The bridle command. The version is told at once; everything else loads the command that was named, and no other.

import { VERSION } from "../version.ts";
import { EXIT_CODES } from "./exit-codes.ts";

// A reader that went away is not our fault; a full disk is, and must not look like a success.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  process.stderr.write(`bridle: stdout: ${error.message}\n`);
  process.exitCode = EXIT_CODES.internal;
});

const words = process.argv.slice(2);
if (words.length === 1 && (words[0] === "--version" || words[0] === "-V"))
  process.stdout.write(`${VERSION}\n`);
else {
  const { runProgram } = await import("./program.ts");
  await runProgram(words);
}
