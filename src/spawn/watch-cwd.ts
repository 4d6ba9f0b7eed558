// Notices that the agent's working directory was renamed or removed. codex cannot start a hook from a directory that is gone, and
// runs the call unasked (docs/providers/codex.md, renamed cwd row); a subagent's calls do not even show in its stream.

import { existsSync, type FSWatcher, statSync, watch } from "node:fs";
import { basename, join } from "node:path";

/** How often the directory is looked at beside the file system's own notice, in milliseconds. */
const LOOK_EVERY_MS = 50;

export interface DirectoryWatch {
  /** Looks now. */
  look(): void;
  close(): void;
}

/** Calls `onLost` once. Best effort: an ancestor that is renamed and put back between two looks is not seen. */
export function watchWorkingDirectory(cwd: string, onLost: (detail: string) => void): DirectoryWatch {
  const { dev, ino } = statSync(cwd);
  let isOver = false;
  const close = () => {
    isOver = true;
    clearInterval(timer);
    watcher?.close();
  };
  const lose = (detail: string) => {
    if (isOver) return;
    close();
    onLost(detail);
  };
  const look = () => {
    const now = statSync(cwd, { throwIfNoEntry: false });
    if (now === undefined) lose(`${cwd} is gone`);
    else if (now.dev !== dev || now.ino !== ino) lose(`${cwd} is another directory`);
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  const watcher = watchSelf(cwd, (name) => {
    // The directory's own move is told under its own name; an entry of that name inside it would be told alike.
    if (name === basename(cwd) && !existsSync(join(cwd, name))) lose(`${cwd} was moved`);
    else look();
  });
  return { look, close };
}

/** Undefined where the file system gives no notice: the looks remain. */
function watchSelf(cwd: string, onRename: (name: string) => void): FSWatcher | undefined {
  try {
    const watcher = watch(cwd, { persistent: false }, (kind, name) => {
      if (kind === "rename" && name !== null) onRename(name);
    });
    watcher.on("error", () => watcher.close()); // no more notice; the looks remain
    return watcher;
  } catch {
    return undefined;
  }
}
