// One readable line an error, on stderr; with --json one object on stdout. Returns the exit code.

import { AgentHooksRefused, createRedactor, formatIssue, toOneLine } from "../index.ts";
import { EXIT_CODES } from "./exit-codes.ts";

/** A signal, or the loss of stdout, came before there was a result. */
export class RunInterrupted extends Error {
  override readonly name = "RunInterrupted";

  constructor(cause: string) {
    super(`${cause} before there was a result`);
  }
}

export function reportError(error: unknown, { json }: { json: boolean }): number {
  const redactor = createRedactor({ env: process.env });
  if (error instanceof AgentHooksRefused) {
    const issues = redactor.json(error.issues);
    if (json) process.stdout.write(`${JSON.stringify({ type: "refused", issues })}\n`);
    else for (const issue of issues) process.stderr.write(`bridle: ${toOneLine(formatIssue(issue))}\n`);
    const isDenied = issues.every(({ code }) => code === "prompt_denied");
    return isDenied ? EXIT_CODES.promptDenied : EXIT_CODES.refused;
  }
  if ((error as NodeJS.ErrnoException).syscall === "uv_cwd") {
    process.stderr.write("bridle: the working directory is not there any more\n");
    return EXIT_CODES.usage;
  }
  const isInterrupted = error instanceof RunInterrupted;
  const message = redactor.text(error instanceof Error ? error.message : String(error));
  if (json) process.stdout.write(`${JSON.stringify({ type: "error", message })}\n`);
  else
    process.stderr.write(
      `bridle: ${isInterrupted ? "interrupted" : "internal error"}: ${toOneLine(message)}\n`,
    );
  return isInterrupted ? EXIT_CODES.interrupted : EXIT_CODES.internal;
}
