// The command string the provider is given: the shim, and what the hook's outer shell says when the shim itself is gone
// (killed, deleted, emptied, a directory). Must never let a lost shim look like an answer on a gate, nor like "go on" elsewhere:
// exit 2 on `Stop` makes the model continue, an endless and costly loop.

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
}

/**
 * @example handlerCommand({ shimPath: "/run/x/s/shim", event: "Stop", shimSeconds: 30, gate: false })
 * // "/bin/sh '/run/x/s/shim' Stop 30 OTHER || exit 0"
 */
export function handlerCommand({ shimPath, event, shimSeconds, gate }: HandlerFormOptions): string {
  if (!/^\/[^'\r\n\0]*$/.test(shimPath)) {
    throw new TypeError(
      `shimPath must be absolute, without quote or line break: ${JSON.stringify(shimPath)}`,
    );
  }
  if (!/^[A-Za-z_]+$/.test(event)) throw new TypeError(`event is not a name: ${JSON.stringify(event)}`);
  if (!Number.isSafeInteger(shimSeconds) || shimSeconds < 1) {
    throw new TypeError(`shimSeconds must be a whole number from 1: ${JSON.stringify(shimSeconds)}`);
  }
  const call = `/bin/sh '${shimPath}' ${event} ${shimSeconds}`;
  if (!gate) return `${call} OTHER || exit 0`;
  const outcomes = `${ADMITTED}) exit 0 ;; 2) exit 2 ;; *) echo 'bridle: guard failed; denied' >&2; exit 2 ;;`;
  return `${call} GATE; case $? in ${outcomes} esac`;
}
