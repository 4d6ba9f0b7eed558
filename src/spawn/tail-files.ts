// Reads what is appended to the files below a folder, line by line, with bounded memory. Says when a file is not what it was: the
// agent may write there when it has no sandbox. Synchronous and polled: notices of the file system come late under load.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import { createLineFramer, type LineFramer } from "./frame.ts";

export interface FileTail {
  /** Reads everything that is there now. */
  look(): void;
  /** Files seen so far. */
  readonly files: number;
}

export interface TailOptions {
  readonly folder: string;
  readonly suffix: string;
  readonly onLine: (line: string) => void;
  /** A file is gone, shorter, another, unreadable, or holds a line that is too long to be read. Once a file. */
  readonly onLost: (detail: string) => void;
}

interface Followed {
  readonly dev: number;
  readonly ino: number;
  readonly framer: LineFramer;
  offset: number;
  isLost: boolean;
}

const CHUNK_BYTES = 64 * 1024;

export function tailFiles({ folder, suffix, onLine, onLost }: TailOptions): FileTail {
  const followed = new Map<string, Followed>();

  const lose = (path: string, file: Followed | undefined, detail: string) => {
    if (file?.isLost === true) return;
    if (file !== undefined) file.isLost = true;
    onLost(`${path} ${detail}`);
  };

  const follow = (path: string, { dev, ino }: Stats): Followed => {
    const file: Followed = {
      dev,
      ino,
      offset: 0,
      isLost: false,
      framer: createLineFramer({
        onLine,
        onOverflow: ({ bytes }) => lose(path, file, `holds a line of ${bytes} bytes`),
      }),
    };
    followed.set(path, file);
    return file;
  };

  const readOn = (path: string) => {
    let file = followed.get(path);
    if (file?.isLost === true) return;
    const now = lstatSync(path, { throwIfNoEntry: false });
    if (now === undefined) return lose(path, file, "is gone");
    if (!now.isFile()) return lose(path, file ?? follow(path, now), "is not a regular file");
    file ??= follow(path, now);
    if (now.size === file.offset && now.ino === file.ino) return;
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { dev, ino, size } = fstatSync(fd);
      if (dev !== file.dev || ino !== file.ino) return lose(path, file, "is another file");
      if (size < file.offset) return lose(path, file, "was cut");
      // For this read alone: hundreds of runs follow files that say nothing for a long time.
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - file.offset + 1));
      for (;;) {
        const count = readSync(fd, buffer, 0, buffer.length, file.offset);
        if (count === 0) return;
        file.offset += count;
        file.framer.push(buffer.subarray(0, count));
      }
    } finally {
      closeSync(fd);
    }
  };

  return {
    look() {
      const paths = new Set([...followed.keys(), ...listFiles(folder, suffix)]);
      for (const path of paths) {
        try {
          readOn(path);
        } catch (error) {
          lose(path, followed.get(path), `cannot be read (${(error as NodeJS.ErrnoException).code})`);
        }
      }
    },
    get files() {
      return followed.size;
    },
  };
}

/** Files below the folder, at any depth. A folder that vanishes meanwhile is left to the files in it that were followed. */
function listFiles(folder: string, suffix: string): string[] {
  let entries: import("node:fs").Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // not made yet, or gone: its followed files tell
  }
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return listFiles(path, suffix);
    return entry.name.endsWith(suffix) ? [path] : [];
  });
}
