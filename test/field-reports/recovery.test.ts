// Reports of records that name a process that is another by now.

import { expect, test } from "vitest";
import { recoverRuns } from "../../src/index.ts";
import { admittedLine, startStray, writeJournal } from "../journal/lost-run.ts";
import { stateDirOf } from "../journal/support.ts";
import { isAlive } from "../spawn/support.ts";
import { placeOfEachTest } from "./support.ts";

const at = placeOfEachTest();

test("field report 12: an agent whose pid is another process's by now is not signalled, and told as identity_mismatch", async () => {
  const { place } = at;
  const { pid, child, line } = await startStray(place, {});
  try {
    await writeJournal(place, "r1", [admittedLine(place, "r1"), { ...line, startTime: "1" }]);
    expect(await recoverRuns({ stateDir: stateDirOf(place), env: place.env })).toMatchObject([
      { state: "recovered", agent: "identity_mismatch", problems: [expect.stringContaining(`pid ${pid}`)] },
    ]);
    expect(isAlive(pid)).toBe(true);
  } finally {
    child.kill("SIGKILL");
  }
});
