// What the chains of one session share: which hooks were to run once and did, what hooks in the background had to say, and the processes of
// persistent guards.

import {
  createPersistentGuards,
  type LeftBehind,
  type PersistentGuards,
  type PersistentGuardsOptions,
} from "../exec/persistent/guards.ts";

export interface ChainSession {
  /** Ids of `once` hooks that were started. */
  readonly once: Set<string>;
  /** Contexts that wait for the next event whose verdict may carry one. */
  readonly contexts: string[];
  /** Hooks that run beside everything else; none of them rejects. */
  readonly background: Set<Promise<void>>;
  /** Ends the hooks in the background. */
  readonly abort: AbortController;
  /** By entry id. */
  readonly guards: PersistentGuards;
}

/** What has a persistent guard must be closed. */
export function createChainSession(options: PersistentGuardsOptions = {}): ChainSession {
  const guards = createPersistentGuards(options);
  return { once: new Set(), contexts: [], background: new Set(), abort: new AbortController(), guards };
}

/** Waits for the hooks in the background, each of which has a deadline of its own. */
export async function settleBackground({ background }: ChainSession): Promise<void> {
  while (background.size > 0) await Promise.all(background);
}

/** Waits for the hooks in the background, then ends the persistent guards. Returns what those had left behind and no call was told of. */
export async function closeChainSession(session: ChainSession): Promise<readonly LeftBehind[]> {
  await settleBackground(session);
  return session.guards.close();
}
