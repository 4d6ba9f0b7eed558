// Changes a settings file: one writer at a time, whole or not at all, and only what was changed. A file that cannot be read as YAML, or
// that another has changed meanwhile, is left as it is.

import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import lockfile from "proper-lockfile";
import { type Document, isMap, parseDocument } from "yaml";
import { AgentHooksRefused, type Issue } from "../errors.ts";
import { patchYaml } from "./patch-yaml.ts";

export interface EditOptions {
  /** Mode of a file that is made anew. Default 0600. One that is there keeps its mode and owner. */
  readonly mode?: number;
  /** Longest that other writers are waited for, in milliseconds. Default 60 000. */
  readonly lockWaitMs?: number;
}

export interface Edited {
  /** The file that was edited: the target, when the name is a link. */
  readonly path: string;
  readonly isChanged: boolean;
}

/** A lock whose owner has not renewed it for so long is taken over, in milliseconds. */
const LOCK_STALE_MS = 10_000;
const LOCK_EVERY_MS = 50;

/**
 * Hands the document to `edit` and writes it when that returns true. The file and its folder are made when they are not there.
 * Throws `AgentHooksRefused` (`declaration_invalid`) when the file is no YAML map, is not UTF-8, is no regular file, belongs to another user or
 * changed meanwhile; what the system says about a file that cannot be read, locked or written is thrown as it is.
 */
export async function editSettings(
  file: string,
  edit: (document: Document.Parsed) => boolean | Promise<boolean>,
  { mode = 0o600, lockWaitMs = 60_000 }: EditOptions = {},
): Promise<Edited> {
  const path = await findTarget(resolve(file));
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  let lost: Error | undefined;
  const release = await lockFile(path, lockWaitMs, (error) => {
    lost = error;
  });
  try {
    const found = await readTarget(path);
    const text = found?.text ?? "";
    const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
    const body = text.slice(bom.length);
    const document = parseSettings(body, path);
    if (!(await edit(document))) return { path, isChanged: false };
    const patched = patchYaml(body, parseSettings(body, path), document);
    if (patched === undefined)
      throw refuse(
        path,
        "cannot be changed without touching other bytes of it: braces or brackets hold what is to be changed, or an alias does",
        "write that part in block style, one key a line; the file was left as it is",
      );
    const next = bom + patched;
    if (next === text) return { path, isChanged: false };
    await replace(path, next, {
      found,
      mode,
      refuseIfLost: () => {
        if (lost !== undefined) throw new Error(`the lock of ${path} was lost`, { cause: lost });
      },
    });
    return { path, isChanged: true };
  } finally {
    if (lost === undefined) await release();
  }
}

/** Waits for other writers and for nothing else: a folder that may not be written is told at once. */
async function lockFile(
  path: string,
  waitMs: number,
  onCompromised: (error: Error) => void,
): Promise<() => Promise<void>> {
  for (let waitedMs = 0; ; waitedMs += LOCK_EVERY_MS) {
    try {
      return await lockfile.lock(path, { realpath: false, stale: LOCK_STALE_MS, retries: 0, onCompromised });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ELOCKED") throw error;
      if (waitedMs >= waitMs)
        throw refuse(path, `is locked by another program, for more than ${waitMs} ms`, `see ${path}.lock`);
    }
    await setTimeout(LOCK_EVERY_MS);
  }
}

function refuse(path: string, message: string, hint = ""): AgentHooksRefused {
  return new AgentHooksRefused([{ code: "declaration_invalid", path, message, hint }]);
}

/** Where a link leads; the name itself when there is nothing yet. */
async function findTarget(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const link = await lstat(file).catch(() => undefined);
  if (link?.isSymbolicLink() === true) throw refuse(file, "is a link to a file that is not there");
  return file;
}

interface Found {
  readonly text: string;
  readonly bytes: Buffer;
  readonly stats: Stats;
}

async function readTarget(path: string): Promise<Found | undefined> {
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (!stats.isFile()) throw refuse(path, "is no regular file");
  const user = process.geteuid?.();
  if (user !== undefined && user !== 0 && stats.uid !== user)
    throw refuse(path, `belongs to uid ${stats.uid}`, "a new file would be yours: edit it as its owner");
  const bytes = await readFile(path);
  try {
    return { bytes, stats, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    throw refuse(path, "is not UTF-8");
  }
}

/** The document as it is now, without a lock; an empty one when there is no file. Refuses what `editSettings` refuses. */
export async function readSettings(file: string): Promise<Document.Parsed> {
  const path = await findTarget(resolve(file));
  const found = await readTarget(path);
  return parseSettings((found?.text ?? "").replace(/^\uFEFF/, ""), path);
}

function parseSettings(text: string, path: string): Document.Parsed {
  const document = parseDocument(text, { uniqueKeys: true });
  if (document.errors.length > 0)
    throw new AgentHooksRefused(
      document.errors.map((error): Issue => {
        const line = error.linePos?.[0].line;
        return {
          code: "declaration_invalid",
          path: line === undefined ? path : `${path}:${line}`,
          message: error.message.split("\n")[0] ?? error.code,
          hint: "the file was left as it is",
        };
      }),
    );
  try {
    document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw refuse(path, (error as Error).message, "the file was left as it is");
  }
  if (document.contents !== null && !isMap(document.contents))
    throw refuse(path, "is no map of settings", "the file was left as it is");
  return document;
}

async function replace(
  path: string,
  text: string,
  { found, mode, refuseIfLost }: { found: Found | undefined; mode: number; refuseIfLost: () => void },
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      if (found !== undefined) {
        const own = await file.stat();
        if (own.uid !== found.stats.uid || own.gid !== found.stats.gid)
          await file.chown(found.stats.uid, found.stats.gid);
      }
      await file.chmod(found === undefined ? mode : found.stats.mode & 0o7777);
      await file.sync();
    } finally {
      await file.close();
    }
    refuseIfLost();
    const now = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    const isAsRead = found === undefined ? now === undefined : now?.equals(found.bytes) === true;
    if (!isAsRead) throw refuse(path, "was changed by another program meanwhile", "try again");
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
