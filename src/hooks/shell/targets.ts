// Which places are too much to lose: the root, the system, a home, the project itself, and everything above them. Looks at names alone,
// never at the disk. Pure.

import { basename, dirname, posix } from "node:path";
import { GLOB, isOpen, OPEN } from "./fields.ts";

export interface Place {
  /** Absolute; the project's root, as far as an envelope tells. */
  readonly cwd: string;
  readonly home: string;
  /** Where the command starts, absolute or relative to `cwd`. @default cwd */
  readonly start?: string;
}

/** `open`: it may be anything. */
export type Breadth = "broad" | "open" | "narrow";

const SYSTEM =
  /^\/(?:private\/)?(?:etc|usr|bin|sbin|lib\d*|libx?\d*|boot|dev|proc|sys|var|System|Library|Applications|Volumes)(?:\/|$)/;
/** Where programs are installed and data is kept: written to every day, and yet too much to remove. */
const INSTALLED = /^\/(?:private\/)?(?:usr\/local|var\/(?:www|log|cache|run|lock|lib))(?:\/|$)/;
const SCRATCH = /^\/(?:private\/)?(?:tmp|var\/tmp|var\/folders|dev\/shm)\/+[^/]/;
const KEYS = new Set([".ssh", ".gnupg", ".aws", ".kube", ".password-store"]);

/** How much is lost when a field of a command is removed or changed with all that is below it. `directories`: where the command may stand. */
export function breadthOf(field: string, directories: readonly string[], place: Place): Breadth {
  if (field === "") return "narrow";
  const isUnknown = isOpen(field);
  const filled = field.replaceAll(OPEN, "");
  const isBroad = directories.some((directory) =>
    isOpen(directory)
      ? !posix.isAbsolute(filled) && isWholeDirectory(filled)
      : covers(posix.resolve(directory, filled), place, isUnknown),
  );
  if (isBroad) return isUnknown ? "open" : "broad";
  if (!isUnknown) return "narrow";
  // `$X` and `$X/*` may be anything; `$X/build` and `build/$X` name something.
  const named = field.split("/").some((part) => /[A-Za-z0-9]/.test(part.replaceAll(OPEN, "")));
  return named ? "narrow" : "open";
}

/** A folder that any program may empty. */
export const isScratch = (path: string): boolean =>
  /^\/(?:private\/)?(?:tmp|var\/tmp|dev\/shm)\/*$/.test(path);

/** Where it is not known where one stands, `.`, `..` and `*` are all there is. */
function isWholeDirectory(path: string): boolean {
  return path.split("/").every((part) => /^[.\ue001]*$/.test(part));
}

/** `isLenient`: a variable stood there, so that a child of the root is probably none. */
function covers(path: string, place: Place, isLenient: boolean): boolean {
  const parts = path.split("/");
  const first = parts.findIndex((part) => part.includes(GLOB));
  if (first === -1) return isBroadPlace(path, place, isLenient);
  const base = parts.slice(0, first).join("/") || "/";
  const isEverything = parts.slice(first).every((part) => /^[.\ue001]+$/.test(part));
  if (isEverything) return !isEmptiedOften(base, place) && isBroadPlace(base, place, isLenient);
  // `.g*` is git's folder too.
  if (base === place.cwd && first === parts.length - 1 && couldBe(parts[first] as string, ".git"))
    return true;
  if (isEmptiedOften(base, place)) return false;
  return (
    isSystem(base) ||
    (first === parts.length - 1 &&
      ((base === "/" && !isLenient) || base === place.home) &&
      base !== place.cwd)
  );
}

/** What package managers keep to load again, and scratch folders that hold neither the project nor the home. */
function isEmptiedOften(path: string, { cwd, home }: Place): boolean {
  if (isScratch(path)) return !isInside(cwd, path) && !isInside(home, path) && path !== cwd;
  return /^\/var\/(?:lib\/apt\/lists|cache\/(?:apt|apk|yum|dnf|pacman)(?:\/.*)?)\/?$/.test(path);
}

/** A part with marks for any text, against a name. */
function couldBe(part: string, name: string): boolean {
  const pattern = part
    .split(GLOB)
    .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
    .join(".*");
  return part.startsWith(".") && new RegExp(`^${pattern}$`, "s").test(name);
}

export function isBroadPlace(path: string, { cwd, home }: Place, isLenient = false): boolean {
  if (path === "/" || path === cwd || path === home) return true;
  if (isInside(cwd, path) || isInside(home, path)) return true;
  if (isInside(path, home) && isKeys(path, home)) return true;
  if (cwd !== "/" && isInside(path, cwd)) return isHistory(path.slice(cwd.length + 1));
  if (SCRATCH.test(path)) return false;
  if (isSystem(path) || /^\/(?:tmp|home|root|opt|srv|mnt|media|Users)\/?$/.test(path)) return true;
  if (!isLenient && dirname(path) === "/") return true;
  if (/^\/(?:home|Users|opt|srv|mnt|media|Volumes)\/[^/]+$/.test(path)) return true;
  return dirname(path) === home;
}

/** A place that belongs to the system, or a key folder or dotfile of the home. */
export function isImportantFile(path: string, place: Place): boolean {
  if (place.cwd !== "/" && place.cwd !== place.home && isInside(path, place.cwd))
    return /^\.git\/(?:HEAD|config|index|packed-refs|refs|objects|hooks)(?:\/|$)/.test(
      path.slice(place.cwd.length + 1),
    );
  if (SCRATCH.test(path)) return false;
  if (isSystem(path)) return !isHarmlessDevice(path) && !INSTALLED.test(path);
  if (!isInside(path, place.home)) return false;
  return isKeys(path, place.home) || (dirname(path) === place.home && basename(path).startsWith("."));
}

const HARMLESS_DEVICE =
  /^\/dev\/(?:null|zero|full|u?random|std(?:in|out|err)|tty|ptmx|fd\/\d+|shm\/.+|pts\/\d+|(?:tcp|udp)\/.+)$/;

export const isHarmlessDevice = (path: string): boolean => HARMLESS_DEVICE.test(path);
export const isDevice = (path: string): boolean => path.startsWith("/dev/") && !isHarmlessDevice(path);

function isSystem(path: string): boolean {
  return SYSTEM.test(path) && !SCRATCH.test(path);
}

function isKeys(path: string, home: string): boolean {
  return KEYS.has(path.slice(home.length + 1).split("/")[0] ?? "");
}

/** The history of the project, relative to its root. */
function isHistory(path: string): boolean {
  return /^\.git(?:\/(?:objects|refs|logs)(?:\/.*)?)?$/.test(path);
}

function isInside(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory === "/" ? "/" : `${directory}/`);
}
