// The shells a shim may meet as /bin/sh. One that is not installed is skipped by name, visibly.

import { existsSync } from "node:fs";

export interface Shell {
  readonly name: string;
  readonly argv: readonly string[];
  readonly present: boolean;
}

function shell(name: string, paths: readonly string[], ...flags: string[]): Shell {
  const file = paths.find((path) => existsSync(path));
  return { name, argv: [file ?? name, ...flags], present: file !== undefined };
}

export const SHELLS: readonly Shell[] = [
  { name: "/bin/sh", argv: ["/bin/sh"], present: true },
  shell("dash", ["/usr/bin/dash", "/bin/dash"]),
  shell("bash --posix", ["/usr/bin/bash", "/bin/bash"], "--posix"),
  shell("busybox sh", ["/usr/bin/busybox", "/bin/busybox"], "sh"),
];

/** Shells that a user may have, and that are no /bin/sh. */
export const LOGIN_SHELLS: readonly Shell[] = [
  shell("bash", ["/usr/bin/bash", "/bin/bash"]),
  shell("zsh", ["/usr/bin/zsh", "/bin/zsh"], "-f"),
];
