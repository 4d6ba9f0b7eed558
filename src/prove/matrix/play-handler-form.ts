// Plays a case in the rendered form with the case's own `shim` in the place of Bridle's.

import { mkdir, writeFile } from "node:fs/promises";
import type { Observation } from "./observation.ts";
import type { PlayOptions } from "./play.ts";
import { playRendered } from "./play-rendered.ts";

/**
 * Lets a stand-in signal its shells whichever form calls it: `$outer` is the one that the CLI started, which reads the stand-in in a
 * subshell (four arguments) or starts another shell for it; `kill_self` ends the shell that runs the stand-in.
 */
const SHELLS_OF_THE_STAND_IN = `outer=$PPID
if [ $# = 4 ]; then outer=$$; fi
kill_self() { /bin/sh -c 'kill -9 $PPID'; }
`;

export function playHandlerForm(options: PlayOptions): Promise<Observation> {
  const { item, stage } = options;
  const { shim = "" } = item;
  return playRendered(options, {
    transport: "shim",
    async placeShim(path) {
      if (typeof shim === "string")
        await writeFile(path, `${SHELLS_OF_THE_STAND_IN}${stage.expand(shim)}\n`, { mode: 0o500 });
      else if (shim.is === "directory") await mkdir(path);
      else if (shim.is === "empty") await writeFile(path, "", { mode: 0o500 });
    },
  });
}
