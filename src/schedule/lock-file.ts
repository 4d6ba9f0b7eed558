// The file of a named lock: whole or not there, and never of two holders. It says who holds it; whether that one lives is asked of the system.

import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ownerName } from "../exec/owner-name.ts";
import { ownIdentity } from "../journal/process-identity.ts";
import { processIdentity } from "../journal/record.ts";

const schema = z.object({
  /** As it was given. */
  name: z.string(),
  /** Of this holding. */
  token: z.uuid(),
  holder: processIdentity,
  /** UTC, ISO 8601. */
  since: z.iso.datetime(),
});
export type LockRecord = z.infer<typeof schema>;

export function lockDirectory(stateDir: string): string {
  return join(stateDir, "locks");
}

export function ownRecord(name: string): LockRecord {
  return { name, token: randomUUID(), holder: { ...ownIdentity() }, since: new Date().toISOString() };
}

/** Undefined: nobody holds it. A text: what is wrong with the file. */
export function readLock(path: string): LockRecord | string | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT"
      ? undefined
      : `cannot be read: ${String(error)}`;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return "is no lock of ours";
  }
}

/** False when there is one already. */
export function makeLock(path: string, record: LockRecord): boolean {
  return withFile(path, record, (written) => {
    try {
      linkSync(written, path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  });
}

/** To be called only in turn. False when another holds it than the one that was seen. Nothing waits between the look and the deed. */
export function replaceLock(path: string, seen: LockRecord, record: LockRecord): boolean {
  return withFile(path, record, (written) => {
    const now = readLock(path);
    if (typeof now !== "object" || now.token !== seen.token) return false;
    renameSync(written, path);
    return true;
  });
}

/** Does nothing when it is another's by now. */
export function removeLock(path: string, { token }: LockRecord): void {
  const now = readLock(path);
  if (typeof now === "object" && now.token === token) rmSync(path, { force: true });
}

function withFile(path: string, record: LockRecord, use: (written: string) => boolean): boolean {
  const written = `${path}.${record.token}.${ownerName()}.new`;
  try {
    writeFileSync(written, JSON.stringify(record), { mode: 0o600, flag: "wx" });
    return use(written);
  } finally {
    rmSync(written, { force: true });
  }
}
