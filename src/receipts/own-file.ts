// What a file of receipts must be before it is opened: a regular file, under its own name, of this user. Whoever could put another in its
// place could have receipts written anywhere, or forged ones read.

import type { Stats } from "node:fs";
import { AgentHooksRefused, type RefusalCode } from "../errors.ts";

/** What is wrong with it; undefined when nothing is. Takes what `lstat` or `fstat` told. */
export function describeForeign(stats: Pick<Stats, "isFile" | "isSymbolicLink" | "uid">): string | undefined {
  if (stats.isSymbolicLink()) return "is a symbolic link";
  if (!stats.isFile()) return "is no regular file";
  const uid = process.getuid?.();
  return uid === undefined || stats.uid === uid ? undefined : `belongs to uid ${stats.uid}`;
}

/** A refusal about a file of receipts; `cause` speaks in the message when it is there. */
export function refuseFile(
  code: Extract<RefusalCode, "receipts_unwritable" | "receipts_unreadable" | "store_unavailable">,
  path: string,
  { message, hint, cause }: { message: string; hint: string; cause?: unknown },
): AgentHooksRefused {
  const word = cause === undefined ? "" : `: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new AgentHooksRefused([{ code, path, message: `${message}${word}`, hint }], { cause });
}
