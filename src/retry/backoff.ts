// How long to wait before the next try: full jitter below a bound that doubles, and never before the time that the provider named. Pure
// but for the random number.

export interface BackoffOptions {
  /** Bound of the first wait. Milliseconds. @default 1000 */
  readonly baseMs?: number;
  /** No bound is above it. Milliseconds. @default 60000 */
  readonly capMs?: number;
  /** From 0 to below 1. @default Math.random */
  readonly random?: () => number;
  /** Milliseconds since the epoch. @default Date.now */
  readonly now?: () => number;
}

export const DEFAULT_BACKOFF = { baseMs: 1_000, capMs: 60_000 } as const;

/**
 * Milliseconds to wait. Before a reset time the jitter comes on top of it, so that those who wait for the same limit do not come back at once.
 *
 * @param failures how many tries have failed, from 1.
 * @param retryAt not before this. Milliseconds since the epoch.
 */
export function backoffMs(
  failures: number,
  retryAt: number | undefined,
  options: BackoffOptions = {},
): number {
  const {
    baseMs = DEFAULT_BACKOFF.baseMs,
    capMs = DEFAULT_BACKOFF.capMs,
    random = Math.random,
    now = Date.now,
  } = options;
  const bound = Math.min(capMs, baseMs * 2 ** Math.min(failures - 1, 52));
  const jitter = Math.round(random() * bound);
  return retryAt === undefined ? jitter : Math.max(0, retryAt - now()) + jitter;
}
