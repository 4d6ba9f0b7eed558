// Options that compiling for an agent and compiling for a host share.

import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Issue } from "../errors.ts";

export interface SharedOptions {
  readonly cwd: string;
  readonly selftest?: string | undefined;
  readonly pluginRoot?: string | undefined;
}

/** Issues: `option_invalid`. A word that nobody reads would be a check that is silently absent. */
export async function checkSharedOptions({ cwd, selftest, pluginRoot }: SharedOptions): Promise<Issue[]> {
  const issues: Issue[] = [];
  const invalid = (path: string, message: string, hint: string) =>
    issues.push({ code: "option_invalid", path, message, hint });
  if (selftest !== undefined && !["require", "off"].includes(selftest))
    invalid("selftest", `unknown value ${JSON.stringify(selftest)}`, "known: require, off");
  if (pluginRoot !== undefined && !isAbsolute(pluginRoot))
    invalid("pluginRoot", `expected an absolute path, got ${JSON.stringify(pluginRoot)}`, "");
  if (typeof cwd !== "string" || !isAbsolute(cwd))
    invalid("cwd", `expected an absolute path, got ${JSON.stringify(cwd)}`, "");
  else if (
    !(await stat(cwd).then(
      (found) => found.isDirectory(),
      () => false,
    ))
  )
    invalid("cwd", `${cwd} is not a directory`, "");
  return issues;
}
