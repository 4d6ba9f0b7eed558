// bash started with -c, a socket on stdin and SHLVL below 2 takes itself for a remote shell and reads ~/.bashrc before it runs the
// command: an agent could write its guard's first lines there.

import type { RenderedEnv } from "./provider.ts";

export const SHELL_LEVEL: Readonly<Record<string, RenderedEnv>> = {
  SHLVL: { value: "2", why: "keeps bash from reading ~/.bashrc before a hook" },
};
