// The chain through one run's receipts: each line carries the hash of the line before it and its own, as its last two fields. Must never
// depend on anything but the bytes of the lines, so that anybody can follow it with sha256sum.

import { hash } from "node:crypto";

/** What the first line of a run follows. It binds the run's id: lines of one run cannot begin another. */
export function genesisOf(runId: string): string {
  return hash("sha256", `bridle receipts 1\n${runId}`, "hex");
}

/** `,"hash":"` and 64 digits and `"}`: what a chained line ends with. */
const SEAL_LENGTH = 75;
/** `,"prev":"` and 64 digits and `"`, right before it. */
const LINK_LENGTH = 74;
const SEALED = /^,"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}$/;

/**
 * A line as it is written, without its newline. `hash` is the SHA-256 of all bytes before `,"hash"`.
 *
 * @param line at least one field, and no `prev` or `hash` of its own
 */
export function sealLine(line: object, prev: string): { text: string; hash: string } {
  const open = `${JSON.stringify(line).slice(0, -1)},"prev":"${prev}"`;
  const digest = hash("sha256", open, "hex");
  return { text: `${open},"hash":"${digest}"}`, hash: digest };
}

export interface Seal {
  readonly prev: string;
  /** As the line says it. */
  readonly hash: string;
  /** It is the hash of these bytes. */
  readonly isTrue: boolean;
}

/** Undefined: the line ends with no seal. @param line without its newline */
export function readSeal(line: Buffer): Seal | undefined {
  if (line.length < SEAL_LENGTH + LINK_LENGTH) return undefined;
  const end = line.toString("latin1", line.length - SEAL_LENGTH - LINK_LENGTH);
  const [, prev, digest] = SEALED.exec(end) ?? [];
  if (prev === undefined || digest === undefined) return undefined;
  const isTrue = hash("sha256", line.subarray(0, line.length - SEAL_LENGTH), "hex") === digest;
  return { prev, hash: digest, isTrue };
}
