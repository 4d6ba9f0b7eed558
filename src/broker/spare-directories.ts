// Run directories made ahead: the process that makes the FIFOs of one run makes those of some later ones with them. A program that starts one run
// makes no spare. What was changed while it waited is never handed out.

import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { OWNER_PATTERN, ownerName, removeAbandoned } from "../exec/owner-name.ts";
import { isNamed } from "../look.ts";
import { LAID_OUT, layOutDirectories, removeTree } from "./lay-out-directories.ts";
import { type Identity, identify, verifyIdentities } from "./run-directory-identity.ts";
import { SHIM_LAYOUT } from "./shim.ts";

/** Most spares that are made at once. */
const MOST_SPARES = 8;

interface Spare {
  readonly path: string;
  readonly identities: Map<string, Identity>;
  /** Of each directory in it, in milliseconds: what is put into one, or taken out of it, changes that. */
  readonly changed: Map<string, number>;
}

interface Place {
  /** Run directories that this program has had there. */
  given: number;
  readonly spares: Spare[];
}

/** By their parent. */
const places = new Map<string, Place>();

const NAME = new RegExp(`^\\.spare-(${OWNER_PATTERN})-[0-9a-f]{12}$`);

/**
 * Gives a run its directory, laid out, of its own name: a spare one, or a new one. The identities are those of what was made.
 *
 * @param parent real path; it is ours alone
 * @throws as `layOutDirectories`; nothing of the directory is left then.
 */
export async function giveDirectory(parent: string, path: string): Promise<Map<string, Identity>> {
  const place = placeOf(parent);
  place.given += 1;
  for (let spare = place.spares.pop(); spare !== undefined; spare = place.spares.pop()) {
    if (!isAsMade(spare)) {
      await removeTree(spare.path).catch(() => {}); // whoever changed it may have made it unremovable: it is not used
      continue;
    }
    // A rename would replace an empty directory.
    if (isNamed(path)) throw Object.assign(new Error(`${path} exists`), { code: "EEXIST" });
    await rename(spare.path, path);
    return spare.identities;
  }
  const count = Math.min(place.given - 1, MOST_SPARES);
  if (count > 0) {
    const made = await layOutWithSpares(path, parent, count);
    if (made !== undefined) {
      place.spares.push(...made);
      return identifyAll(path).identities;
    }
  }
  await layOutOne(path);
  return identifyAll(path).identities;
}

function placeOf(parent: string): Place {
  const known = places.get(parent);
  if (known !== undefined) return known;
  if (places.size === 0) process.once("exit", removeSpares);
  const place = { given: 0, spares: [] };
  places.set(parent, place);
  void removeAbandonedSpares(parent);
  return place;
}

async function layOutOne(path: string): Promise<void> {
  try {
    await layOutDirectories([path]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") await removeTree(path);
    throw error;
  }
}

/** Undefined when there is no room for spares, or whatever else it was: the run alone may fare better, or says why not. */
async function layOutWithSpares(path: string, parent: string, count: number): Promise<Spare[] | undefined> {
  if (isNamed(path)) return undefined;
  const owner = ownerName();
  const spares = Array.from({ length: count }, () =>
    join(parent, `.spare-${owner}-${randomBytes(6).toString("hex")}`),
  );
  try {
    await layOutDirectories([path, ...spares]);
    return spares.map((spare) => ({ path: spare, ...identifyAll(spare) }));
  } catch (error) {
    // Somebody else's is not removed.
    const made = (error as NodeJS.ErrnoException).code === "EEXIST" ? spares : [path, ...spares];
    await Promise.all(made.map((it) => removeTree(it).catch(() => {})));
    return undefined;
  }
}

function identifyAll(path: string): Omit<Spare, "path"> {
  const identities = new Map<string, Identity>();
  const changed = new Map<string, number>();
  for (const name of LAID_OUT) {
    const stats = lstatSync(join(path, name));
    identities.set(name, identify(stats));
    if (stats.isDirectory()) changed.set(name, stats.ctimeMs);
  }
  return { identities, changed };
}

/** Everything is what was made, and nothing was added. */
function isAsMade({ path, identities, changed }: Spare): boolean {
  if (verifyIdentities(path, identities, LAID_OUT).length > 0) return false;
  for (const [name, ctimeMs] of changed) if (lstatSync(join(path, name)).ctimeMs !== ctimeMs) return false;
  // The clock of a file system may stand still for some milliseconds; a home that somebody made would be the agent's.
  return readdirSync(path).every((name) => LAID_OUT.includes(name));
}

/** At the end of this program, whose runs are over; a signal that ends it calls no listener of its exit. */
export function removeSpares(): void {
  for (const { spares } of places.values())
    for (const { path } of spares.splice(0)) {
      try {
        chmodSync(join(path, SHIM_LAYOUT.shimDir), 0o700);
        rmSync(path, { recursive: true, force: true });
      } catch {
        // The next program that has a run there removes it.
      }
    }
}

/** Removes the spares of programs that were killed. Never rejects. */
export function removeAbandonedSpares(parent: string): Promise<void> {
  return removeAbandoned(parent, NAME, removeTree);
}
