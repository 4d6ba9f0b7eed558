// Agents of the field reports: fakes behind a small sh, so that a leader, a wrapper or a sibling is what a report says it was.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { probePidNamespace } from "../../src/spawn/namespace-recipe.ts";
import { FAKE_PROVIDER_MARK } from "../../src/trust/native-binary.ts";
import { killAllIn } from "../spawn/escape-support.ts";
import { makePlace, type Place } from "../spawn/support.ts";

/** A place for each test of a file, ended and removed after it. */
export function placeOfEachTest(): { readonly place: Place } {
  const holder: { place: Place } = { place: undefined as unknown as Place };
  beforeEach(async () => {
    holder.place = await makePlace();
  });
  afterEach(async () => {
    killAllIn(holder.place);
    await holder.place.remove();
  });
  return holder;
}

/** Both ways to hold an agent's processes together, as far as this host has them. */
export const CONTAINMENTS =
  typeof (await probePidNamespace()) === "string"
    ? (["sweep"] as const)
    : (["sweep", "pid-namespace"] as const);

/** Writes the executable that is started in a fake's place: `body` is sh, `$FAKE` the fake. `--version` is always the fake's. */
export const behind =
  ({ home }: Place, body: string) =>
  async (fake: string): Promise<string> => {
    const path = join(home, "fakes", "cli.sh");
    const lines = [
      "#!/bin/sh",
      FAKE_PROVIDER_MARK,
      `FAKE='${fake}'`,
      'if [ "$1" = --version ]; then exec "$FAKE" "$@"; fi',
      body,
    ];
    await writeFile(path, `${lines.join("\n")}\n`);
    await chmod(path, 0o755);
    return path;
  };
