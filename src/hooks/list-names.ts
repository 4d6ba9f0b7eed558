// Names on the disk that a pattern may mean. Links below the folder that is begun with are not followed, so that a loop has an end; what
// cannot be read holds nothing. Reads no file.

import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Packages that were installed hold nothing of the project's own. */
const NOT_OURS = "node_modules";

/**
 * Everything below a folder, relative to it, hidden names and folders too, but what stands in `node_modules`.
 *
 * @param levels how deep; 1 is the folder's own names.
 */
export function* listBelow(folder: string, levels: number, at = ""): Generator<string> {
  if (levels === 0) return;
  for (const entry of readFolder(join(folder, at))) {
    if (entry.name === NOT_OURS) continue;
    const path = at === "" ? entry.name : `${at}/${entry.name}`;
    yield path;
    if (entry.isDirectory()) yield* listBelow(folder, levels - 1, path);
  }
}

/**
 * What a shell makes of a path in which `star`, at least once, stands for any characters of a name but a dot at its head; everything else in it is itself.
 * What is not there is left out. A relative path comes back relative to `folder`.
 */
export function* expandStars(path: string, { folder, star }: { folder: string; star: string }) {
  const root = path.startsWith("/") ? "/" : "";
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const first = parts.findIndex((part) => part.includes(star));
  const base = root + parts.slice(0, first).join("/");
  yield* expandParts(base, parts.slice(first), {
    start: root === "" ? folder : root,
    star,
    isFolder: path.endsWith("/"),
  });
}

function* expandParts(
  at: string,
  [part, ...rest]: readonly string[],
  place: { readonly start: string; readonly star: string; readonly isFolder: boolean },
): Generator<string> {
  if (part === undefined) {
    yield at;
    return;
  }
  const absolute = at.startsWith("/") ? at : join(place.start, at);
  for (const { name, isFolder } of namesLike(absolute, part, place.star)) {
    if (!isFolder && (rest.length > 0 || place.isFolder)) continue;
    yield* expandParts(at === "" || at.endsWith("/") ? at + name : `${at}/${name}`, rest, place);
  }
}

function namesLike(folder: string, part: string, star: string): { name: string; isFolder: boolean }[] {
  if (!part.includes(star)) {
    const found = ignoreMissing(() => lstatSync(join(folder, part)));
    return found === undefined ? [] : [{ name: part, isFolder: found.isDirectory() }];
  }
  const [head = "", ...others] = part.split(star);
  const tail = others.pop() ?? "";
  return readFolder(folder)
    .filter(({ name }) => (head !== "" || !name.startsWith(".")) && isLike(name, head, others, tail))
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
}

/** `head*one*other*tail`, without expressions: nothing in a name may be taken for one. */
function isLike(name: string, head: string, others: readonly string[], tail: string): boolean {
  if (!name.startsWith(head)) return false;
  let at = head.length;
  for (const text of others) {
    const found = name.indexOf(text, at);
    if (found === -1) return false;
    at = found + text.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}

function readFolder(folder: string): Dirent[] {
  return ignoreMissing(() => readdirSync(folder, { withFileTypes: true })) ?? [];
}

/** Undefined when the system says no. */
function ignoreMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).errno === undefined) throw error;
    return undefined;
  }
}
