// Bounds of persistent guards. docs/PERSISTENT.md names them.

/** Longest line of a guard's stdout, in bytes: as much as is kept of a one-shot guard's. */
export { OUTPUT_CAP_BYTES as LINE_CAP_BYTES } from "../run-command.ts";

/** Between the end of its stdin and SIGTERM, when the run is over. */
export const CLOSE_GRACE_MS = 1_000;

/** Kept of a guard's stderr, and quoted when it fails. */
export const STDERR_TAIL_BYTES = 1024;

/** More failures than this within `FAILURE_WINDOW_MS`, and it is not started again in its session. */
export const FAILURE_LIMIT = 5;
export const FAILURE_WINDOW_MS = 60_000;

/** More abandoned calls than this without an answer, and it counts as stuck. */
export const ABANDONED_LIMIT = 1_000;

/** More bytes than this that it has not read from its stdin when it is asked again, and it counts as stuck. */
export const UNREAD_LIMIT_BYTES = 64 * 1024 * 1024;
