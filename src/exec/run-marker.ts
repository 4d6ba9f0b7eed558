// The variable by which what belongs to a run is found: the agent's tree by the run's id, and its persistent guards by another value, because
// they outlive the tree.

/** Carries the run id through the whole process tree, so that what is left can be found. */
export const RUN_MARKER = "BRIDLE_RUN_MARKER";

/**
 * Carried instead by the run's persistent guards: they outlive the agent's tree, so that what ends the tree must not find them. Whoever ends
 * what a dead supervisor has left does: the watchdog, for which a `.` ends the run id, and recovery.
 */
export function guardMarker(marker: string): string {
  return `${marker}.guards`;
}

/** Markers nest (`outer:inner`), so that a run inside a run is found by both. */
export function nestMarker(base: NodeJS.ProcessEnv, marker: string): string {
  const outer = base[RUN_MARKER];
  return outer === undefined || outer === "" ? marker : `${outer}:${marker}`;
}
