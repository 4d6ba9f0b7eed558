// Is a command the one that was trusted? Pure.

import { hashCommand } from "./command-hash.ts";
import { ENV_PIN, type Pin } from "./pins.ts";
import type { TrustRecords } from "./trust-records.ts";

export type TrustState =
  | { readonly state: "trusted" }
  /** Never trusted: the argv, or a file that it names now. */
  | { readonly state: "untrusted"; readonly detail: string }
  /** Trusted once, with other bytes. */
  | { readonly state: "changed"; readonly detail: string };

export function judgeCommand(
  /** As declared. */
  argv: readonly string[],
  pins: readonly Pin[],
  { commands, files }: TrustRecords,
): TrustState {
  const command = hashCommand(argv);
  if (!commands.has(command))
    return { state: "untrusted", detail: `${JSON.stringify(argv)} was never trusted` };
  const states = pins.map((pin) =>
    judgePin(
      pin,
      files.filter((row) => row.command === command),
    ),
  );
  const find = (state: string) => states.find((one) => one.state === state);
  return find("untrusted") ?? find("changed") ?? { state: "trusted" };
}

export function judgePin(
  { file, sha256 }: Pin,
  rows: readonly { readonly file: string; readonly sha256: string }[],
): TrustState {
  const known = rows.filter((row) => row.file === file);
  const subject = file === ENV_PIN ? "its env" : file;
  if (known.length === 0) return { state: "untrusted", detail: `${subject} was never trusted` };
  if (known.some((row) => row.sha256 === sha256)) return { state: "trusted" };
  return { state: "changed", detail: `${subject} is not what was trusted` };
}
