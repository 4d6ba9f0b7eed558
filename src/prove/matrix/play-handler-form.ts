// Plays a case in the rendered form with the case's own `shim` in the place of Bridle's.

import { mkdir, writeFile } from "node:fs/promises";
import type { Observation } from "./observation.ts";
import type { PlayOptions } from "./play.ts";
import { playRendered } from "./play-rendered.ts";

export function playHandlerForm(options: PlayOptions): Promise<Observation> {
  const { item, stage } = options;
  const { shim = "" } = item;
  return playRendered(options, {
    transport: "shim",
    async placeShim(path) {
      if (typeof shim === "string") await writeFile(path, `${stage.expand(shim)}\n`, { mode: 0o500 });
      else if (shim.is === "directory") await mkdir(path);
      else if (shim.is === "empty") await writeFile(path, "", { mode: 0o500 });
    },
  });
}
