// Where proofs are kept: one 0600 file a key in the state directory, written whole, one prover at a time. What cannot be trusted
// counts as absent. The package ships proofs of the pinned versions beside it.

import { lstat, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import lockfile from "proper-lockfile";
import { isJsonObject } from "../json.ts";
import { stateDirectory } from "../receipts/writer.ts";
import { makeStateFolder } from "./make-state-folder.ts";
import { bytesDigest, isIntact, type Proof, type ProofKey, proofSchema } from "./proof.ts";

export const SHIPPED_PROOFS = fileURLToPath(new URL("../../proofs/", import.meta.url));

/** `$XDG_STATE_HOME/bridle/proofs` or `~/.local/state/bridle/proofs`. */
export function proofDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return join(stateDirectory(env), "proofs");
}

export type FoundProof =
  | { readonly proof: Proof; readonly path: string }
  /** `reason`: why a file that is there does not count. */
  | { readonly proof: undefined; readonly reason: string | undefined };

/** Bits of the mode that a record may not have: ours is ours alone; a shipped one has the mode that the package was unpacked with. */
const OWN_FORBIDDEN = 0o077;
const SHIPPED_FORBIDDEN = 0o002;
/** Longest that another prover of the same key is waited for, in milliseconds. */
const LOCK_WAIT_MS = 180_000;
const LOCK_STALE_MS = 20_000;
/** How far ahead of this clock a proof may have been made. */
const CLOCK_SKEW_MS = 5 * 60_000;

export function proofPath(
  directory: string,
  { provider, sha256, platform, profile, matrix }: ProofKey,
): string {
  return join(
    directory,
    `${provider}-${sha256.slice(0, 16)}-${platform}-${profile}-${matrix.slice(0, 16)}.json`,
  );
}

/** Never throws for what a file holds. */
export async function loadProof(directory: string, key: ProofKey): Promise<FoundProof> {
  return readProof(proofPath(directory, key), key, OWN_FORBIDDEN);
}

/** A proof that came with the package, and is trusted as far as the package's code beside it: not everybody may write it. */
export async function loadShippedProof(key: ProofKey, directory = SHIPPED_PROOFS): Promise<FoundProof> {
  const names = await readdir(directory).catch(() => []); // a package without proofs ships none
  for (const name of names.filter((it) => it.endsWith(".json"))) {
    const found = await readProof(join(directory, name), key, SHIPPED_FORBIDDEN);
    if (found.proof !== undefined) return found;
  }
  return { proof: undefined, reason: undefined };
}

async function readProof(path: string, key: ProofKey, forbiddenMode: number): Promise<FoundProof> {
  const absent = (reason: string): FoundProof => ({ proof: undefined, reason: `${path} ${reason}` });
  try {
    const stats = await lstat(path);
    if (!stats.isFile()) return absent("is not a regular file");
    const isOurs = stats.uid === process.getuid?.() || forbiddenMode === SHIPPED_FORBIDDEN;
    if (!isOurs) return absent(`belongs to uid ${stats.uid}`);
    if ((stats.mode & forbiddenMode) !== 0) return absent(`has mode ${(stats.mode & 0o777).toString(8)}`);
    const json: unknown = JSON.parse(await readFile(path, "utf8"));
    if (isJsonObject(json) && typeof json.format === "number" && json.format > 1)
      return absent("was written by a newer version");
    const { data: proof } = proofSchema().safeParse(json);
    if (proof === undefined) return absent("does not have the shape of a proof");
    if (!isIntact(proof)) return absent("was changed after it was written");
    if (proof.set === "part") return absent("holds only a part of the cases");
    if (!isAbout(proof, key)) return absent("is about something else");
    if (Date.parse(proof.provedAt) > Date.now() + CLOCK_SKEW_MS)
      return absent(`is dated ${proof.provedAt}, in the future`);
    return { proof, path };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { proof: undefined, reason: undefined };
    return absent(`cannot be read: ${(error as Error).message}`);
  }
}

function isAbout({ provider, binary, platform, profile, bridle, matrix }: Proof, key: ProofKey): boolean {
  return (
    provider === key.provider &&
    bytesDigest(binary) === key.sha256 &&
    platform === key.platform &&
    profile === key.profile &&
    bridle === key.bridle &&
    matrix === key.matrix
  );
}

/** Writes the whole file or nothing. Returns its path. */
export async function saveProof(directory: string, key: ProofKey, proof: Proof): Promise<string> {
  const path = proofPath(directory, key);
  const draft = `${path}.${process.pid}.${Date.now()}.tmp`;
  await makeStateFolder(directory);
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(`${JSON.stringify(proof, null, 1)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return path;
}

/** One prover a key at a time; the others wait and find its record. Throws when the lock cannot be had. */
export async function withProofLock<T>(
  directory: string,
  key: ProofKey,
  prove: () => Promise<T>,
): Promise<T> {
  await makeStateFolder(directory);
  const every = 500;
  const release = await lockfile.lock(proofPath(directory, key), {
    realpath: false,
    stale: LOCK_STALE_MS,
    retries: { retries: Math.ceil(LOCK_WAIT_MS / every), factor: 1, minTimeout: every, maxTimeout: every },
  });
  try {
    return await prove();
  } finally {
    await release();
  }
}
