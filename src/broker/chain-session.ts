// What the chains of one session share: which hooks were to run once and did, and what hooks in the background had to say.

export interface ChainSession {
  /** Ids of `once` hooks that were started. */
  readonly once: Set<string>;
  /** Contexts that wait for the next event whose verdict may carry one. */
  readonly contexts: string[];
  /** Hooks that run beside everything else; none of them rejects. */
  readonly background: Set<Promise<void>>;
  /** Ends the hooks in the background. */
  readonly abort: AbortController;
}

export function createChainSession(): ChainSession {
  return { once: new Set(), contexts: [], background: new Set(), abort: new AbortController() };
}

/** Waits for the hooks in the background, each of which has a deadline of its own. */
export async function settleBackground({ background }: ChainSession): Promise<void> {
  while (background.size > 0) await Promise.all(background);
}
