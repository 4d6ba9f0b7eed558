// The name of a command in a trust record: sha256 of its argv as Python's json.dumps writes it, so that every program that keeps to the
// record's definition finds the same one. Pure.

import { createHash } from "node:crypto";
import { AgentHooksRefused } from "../errors.ts";

/** sha256, hex. The argv is taken as declared: placeholders are not expanded. */
export function hashCommand(argv: readonly string[]): string {
  return createHash("sha256").update(toPythonJson(argv)).digest("hex");
}

/** `", "` between words, and everything outside printable ASCII escaped. */
export function toPythonJson(argv: readonly string[]): string {
  const escapeUnit = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const words = argv.map((word) => JSON.stringify(word).replaceAll(/[\u007f-\uffff]/g, escapeUnit));
  return `[${words.join(", ")}]`;
}

/** The last gate before a record: throws `command_invalid` for what no declaration should have let through. */
export function refuseBlank(argv: unknown): asserts argv is readonly string[] {
  const isArgv =
    Array.isArray(argv) &&
    argv.length > 0 &&
    argv.every((word) => typeof word === "string" && word.trim() !== "");
  if (isArgv) return;
  const message = `an empty or blank argv cannot be trusted: ${JSON.stringify(argv)}`;
  throw new AgentHooksRefused([{ code: "command_invalid", path: "trust", message, hint: "" }]);
}
