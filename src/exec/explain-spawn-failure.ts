// Why a program could not be started, in words that name the file: the kernel says ENOENT for three different mistakes.

import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";

export function explainSpawnFailure({
  file,
  cwd,
  error,
}: {
  file: string;
  cwd: string;
  error: NodeJS.ErrnoException;
}): string {
  if (!isDirectory(cwd)) return `cannot start ${file}: the working directory ${cwd} is missing`;
  let mode: ReturnType<typeof statSync>;
  try {
    mode = statSync(file);
  } catch {
    return `cannot start ${file}: the file is missing`;
  }
  if (mode.isDirectory()) return `cannot start ${file}: it is a directory`;
  if (!isExecutable(file)) return `cannot start ${file}: it is not executable`;
  const firstLine = readFirstLine(file);
  if (firstLine?.startsWith("#!") === true) {
    if (firstLine.endsWith("\r")) return `cannot start ${file}: its #! line ends in a carriage return (CR)`;
    const interpreter = firstLine.slice(2).trim().split(/[ \t]/)[0] ?? "";
    if (!isExecutable(interpreter)) {
      return `cannot start ${file}: its #! line names ${interpreter || "nothing"}, which is missing or not executable`;
    }
  }
  return `cannot start ${file}: ${error.code ?? ""} ${error.message}`.replace(/ +/g, " ");
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function readFirstLine(path: string): string | undefined {
  try {
    const fd = openSync(path, "r");
    try {
      const head = Buffer.alloc(512);
      const length = readSync(fd, head);
      return head.toString("latin1", 0, length).split("\n")[0];
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined; // unreadable but executable: the errno's own words have to do
  }
}
