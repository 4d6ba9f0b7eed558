// The one place that loads better-sqlite3, which is an optional peer: whoever does not use this store need not have it.

import { createRequire } from "node:module";
import type Driver from "better-sqlite3";
import { AgentHooksRefused } from "../errors.ts";

export type OpenDatabase = typeof Driver;
export type Database = Driver.Database;

/** Version 13 ends the process on Node 20, so another major version is not even loaded. */
const MAJOR = "12";

/** Rejects with AgentHooksRefused `store_unavailable` when it is missing, of another major version, or not built for this Node. */
export async function loadDriver(): Promise<OpenDatabase> {
  const version = installedVersion();
  if (version !== undefined && version.split(".")[0] !== MAJOR)
    throw refuse(`version ${version} is installed, and version ${MAJOR} is needed`);
  try {
    return (await import("better-sqlite3")).default;
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
    throw refuse(isMissing ? "it is not installed" : "it cannot be loaded", cause);
  }
}

/** Undefined when that cannot be told: the import then tells what is wrong. */
function installedVersion(): string | undefined {
  try {
    const { version } = createRequire(import.meta.url)("better-sqlite3/package.json") as {
      version?: unknown;
    };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

/** Also for a driver whose native part does not load: that shows when the first database is opened. */
export function refuse(message: string, cause?: unknown): AgentHooksRefused {
  const word = cause instanceof Error ? `: ${cause.message}` : "";
  const hint = `npm install better-sqlite3@${MAJOR}; after a change of Node: npm rebuild better-sqlite3`;
  return new AgentHooksRefused(
    [{ code: "store_unavailable", path: "better-sqlite3", message: `${message}${word}`, hint }],
    { cause },
  );
}
