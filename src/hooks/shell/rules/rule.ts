// What a rule is: it looks at one command and says what it would destroy. Pure.

import type { ShellCommand } from "../command.ts";
import { showField } from "../fields.ts";
import { type Breadth, breadthOf, type Place } from "../targets.ts";

export interface Facts extends Place {
  /** True for a file that is there and holds something. */
  readonly holdsText: (path: string) => boolean;
}

/** Why not, in words that follow "this "; undefined when the rule has nothing against it. */
export type Rule = (command: ShellCommand, facts: Facts) => string | undefined;

export const CANNOT_BE_READ = "cannot be read";

const SHOWN_MAX = 60;

/** A word for a reason. */
export function quote(field: string): string {
  const shown = showField(field);
  return JSON.stringify(shown.length > SHOWN_MAX ? `${shown.slice(0, SHOWN_MAX)}…` : shown);
}

/** The first target that is too much, in words; `isOpenFine`: what is not known is let through. */
export function describeBroad(
  targets: readonly string[],
  { directories }: ShellCommand,
  facts: Facts,
  { isOpenFine = false }: { isOpenFine?: boolean } = {},
): string | undefined {
  let open: string | undefined;
  for (const target of targets) {
    const breadth: Breadth = breadthOf(target, directories, facts);
    if (breadth === "broad") return quote(target);
    if (breadth === "open") open ??= target;
  }
  return open === undefined || isOpenFine ? undefined : `${quote(open)}, a target that ${CANNOT_BE_READ}`;
}
