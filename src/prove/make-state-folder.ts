// Makes a folder of Bridle's own state; one that cannot be made is the user's to mend, in words.

import { AgentHooksRefused } from "../errors.ts";
import { makeDirectories } from "../make-directories.ts";

/** @throws AgentHooksRefused `run_dir_unsafe` */
export async function makeStateFolder(path: string): Promise<void> {
  await makeDirectories(path).catch((cause: Error) => {
    const message = `cannot be made: ${cause.message}`;
    const hint = "set XDG_STATE_HOME to a folder that you may write";
    throw new AgentHooksRefused([{ code: "run_dir_unsafe", path, message, hint }], { cause });
  });
}
