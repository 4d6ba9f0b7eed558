// Whether a path is a protected one: globs against the path as it was named and as links lead it. Reads links and names of the disk, never
// what files hold.

import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, posix, relative, resolve } from "node:path";
import picomatch from "picomatch";
import { listBelow } from "./list-names.ts";

export interface ProtectedGlobs {
  /** The glob that protects a path, or something that it holds when `isWhole`; undefined when none does. `base`: what a relative path stands in. */
  find(
    path: string,
    place: {
      readonly cwd: string;
      readonly base?: string;
      readonly isWhole?: boolean;
      /** Of what a folder holds, git's own folder does not count. */
      readonly sparesGit?: boolean;
    },
  ): string | undefined;
}

interface Glob {
  readonly source: string;
  /** `cwd`: below the project, from its root; `name`: the last part, anywhere; `absolute`: from `/`. */
  readonly kind: "cwd" | "name" | "absolute";
  readonly pattern: string;
  readonly base: string;
}

/** Throws `TypeError` for a glob that cannot be used; `at` is shown at its head. */
export function compileGlobs(at: string, sources: readonly string[]): ProtectedGlobs {
  const globs = sources.map((source, index) => readGlob(`${at}[${index}]`, source));
  const matchers = new Map<string, (path: string) => boolean>();
  const matcherOf = (pattern: string, nocase: boolean) => {
    const key = `${nocase}:${pattern}`;
    let matcher = matchers.get(key);
    if (matcher === undefined) {
      // `dot`: what begins with a dot is what is protected most of the time.
      const compiled = picomatch(pattern, { dot: true, nocase, strictSlashes: false });
      matcher = (path) => compiled(path); // its second parameter is no index
      matchers.set(key, matcher);
    }
    return matcher;
  };
  return {
    find(path, { cwd, base = cwd, isWhole: isAll = false, sparesGit = false }) {
      const named = resolve(base, path.startsWith("~/") ? join(homedir(), path.slice(2)) : path);
      const roots = [...new Set([resolve(cwd), followLinks(resolve(cwd))])];
      const nocase = isCaseBlind(cwd);
      for (const candidate of new Set([named, followLinks(named)])) {
        for (const { source, kind, pattern, base: fixed } of globs) {
          const isMatch = matcherOf(pattern, nocase);
          const isWhole = isAll && !(sparesGit && /^(?:\.\/)?\.git(?:\/|$)/.test(pattern));
          if (kind === "name" && namesBelow(candidate, roots).some(isMatch)) return source;
          if (kind === "name" && isWhole && holdsName(candidate, pattern)) return source;
          if (kind === "absolute" && (isMatch(candidate) || (isWhole && holds(candidate, fixed))))
            return source;
          if (kind !== "absolute") {
            for (const root of roots) {
              const inside = relative(root, candidate);
              if (kind === "cwd" && !inside.startsWith("../") && inside !== "" && isMatch(inside))
                return source;
              if (isWhole && holds(candidate, kind === "cwd" ? join(root, fixed) : root)) return source;
            }
          }
        }
      }
      return undefined;
    },
  };
}

/** Parts of a path that a name may match: the project's own place is none of them. */
function namesBelow(candidate: string, roots: readonly string[]): string[] {
  const root = roots.find((one) => candidate === one || candidate.startsWith(`${one}/`));
  return candidate
    .slice(root?.length ?? 0)
    .split("/")
    .filter((part) => part !== "");
}

/** How deep below a folder names are looked for. */
const LEVELS = 5;

/** True when a folder holds such a name, near enough to its top. */
function holdsName(directory: string, pattern: string): boolean {
  const isMeant = picomatch(`**/${pattern}`, { dot: true });
  for (const path of listBelow(directory, LEVELS)) if (isMeant(path)) return true;
  return false;
}

/** True when removing `directory` removes `path`, or what stands below a glob's fixed part. */
function holds(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function readGlob(at: string, source: string): Glob {
  if (source.startsWith("!"))
    throw new TypeError(`${at} must protect, and ${JSON.stringify(source)} takes away; leave the ! out`);
  if (source.includes("\0") || source.includes("\\"))
    throw new TypeError(`${at} must be a glob with / between folders, got ${JSON.stringify(source)}`);
  const isHome = source.startsWith("~/");
  const clean = posix.normalize(isHome ? join(homedir(), source.slice(2)) : source).replace(/\/$/, "/**");
  if (clean.startsWith("../") || clean === ".." || clean === ".")
    throw new TypeError(
      `${at} must name something inside the project, or be absolute, got ${JSON.stringify(source)}`,
    );
  const pattern = clean.startsWith("./") ? clean.slice(2) : clean;
  const { base } = picomatch.scan(pattern) as { base: string };
  try {
    picomatch.makeRe(pattern);
  } catch (error) {
    throw new TypeError(`${at} is no glob: ${(error as Error).message}`);
  }
  if (isAbsolute(pattern)) return { source, kind: "absolute", pattern, base };
  return { source, kind: source.includes("/") ? "cwd" : "name", pattern, base };
}

const LINKS_MAX = 40;

/** The path with every link resolved, as far as its folders exist; a link to nothing counts as what it names. */
export function followLinks(path: string, depth = 0): string {
  try {
    return realpathSync(path);
  } catch {
    // not there, or not to be reached: the nearest folder that is there decides
  }
  if (depth < LINKS_MAX) {
    try {
      if (lstatSync(path).isSymbolicLink())
        return followLinks(resolve(dirname(path), readlinkSync(path)), depth + 1);
    } catch {
      // nothing stands there
    }
  }
  const parent = dirname(path);
  return parent === path ? path : join(followLinks(parent, depth), basename(path));
}

/** True where `A` and `a` are one file: asked of the file system, by the folder's own name. */
function isCaseBlind(folder: string): boolean {
  const swapped = folder.replaceAll(/\p{L}/gu, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
  if (swapped === folder) return false;
  try {
    const [one, other] = [statSync(folder), statSync(swapped)];
    return one.ino === other.ino && one.dev === other.dev;
  } catch {
    return false; // nothing stands there under the other name
  }
}
