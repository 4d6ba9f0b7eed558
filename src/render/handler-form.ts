// The command string the provider is given: the shim, and what the hook's outer shell says when the shim itself is gone
// (killed, deleted, emptied, a directory). Must never let a lost shim look like an answer on a gate, nor like "go on" elsewhere:
// exit 2 on `Stop` makes the model continue, an endless and costly loop.

import { dirname } from "node:path";

/**
 * What the shim exits with on a gate when the broker admitted the action. Not 0: dash exits 0 for a script that is a
 * directory or an empty file (measured), so 0 is no evidence that the shim ran.
 */
const ADMITTED = 90;

export interface HandlerFormOptions {
  /** Absolute path of the shim file. The run directory refuses paths with a single quote or a line break. */
  readonly shimPath: string;
  readonly event: string;
  /** The shim's own deadline T in whole seconds; strictly below the provider's timeout. */
  readonly shimSeconds: number;
  /** True when the event's role is `gate`: every fault denies. */
  readonly gate: boolean;
  /**
   * The provider runs the string with the user's own shell, whatever that is: only /bin/sh may read the shim, so one is started.
   * @default false: the outer shell is /bin/sh, and a fork of it reads the shim, which saves the start of another program
   */
  readonly startsShell?: boolean;
}

/**
 * @example handlerCommand({ shimPath: "/run/x/s/shim", event: "Stop", shimSeconds: 30, gate: false, startsShell: true })
 * // "/bin/sh '/run/x/s/shim' Stop 30 OTHER || exit 0"
 */
export function handlerCommand({
  shimPath,
  event,
  shimSeconds,
  gate,
  startsShell = false,
}: HandlerFormOptions): string {
  if (!/^\/[^'\r\n\0]*$/.test(shimPath)) {
    throw new TypeError(
      `shimPath must be absolute, without quote or line break: ${JSON.stringify(shimPath)}`,
    );
  }
  if (!/^[A-Za-z_]+$/.test(event)) throw new TypeError(`event is not a name: ${JSON.stringify(event)}`);
  if (!Number.isSafeInteger(shimSeconds) || shimSeconds < 1) {
    throw new TypeError(`shimSeconds must be a whole number from 1: ${JSON.stringify(shimSeconds)}`);
  }
  const words = `${event} ${shimSeconds} ${gate ? "GATE" : "OTHER"}`;
  const call = startsShell ? `/bin/sh '${shimPath}' ${words}` : readShim(shimPath, words);
  if (!gate) return `${call} || exit 0`;
  const outcomes = `${ADMITTED}) exit 0 ;; 2) exit 2 ;; *) echo 'bridle: guard failed; denied' >&2; exit 2 ;;`;
  return `${call}; case $? in ${outcomes} esac`;
}

/**
 * In a subshell, so that what kills the shim leaves somebody to deny. `command` keeps a shim that cannot be read from ending it
 * with 2, which is the code of a denial and would pass without Bridle's words.
 */
function readShim(shimPath: string, words: string): string {
  return `( set -- ${words} '${dirname(dirname(shimPath))}'; command . '${shimPath}' || exit 1 )`;
}
