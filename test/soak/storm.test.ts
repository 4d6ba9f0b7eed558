// A tenth of the storm of `npm run soak`, and that it sees an answer that is lost or goes astray.

import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { STORM_SHELLS, storm, stormViolations } from "../../soak/storm.mjs";
import { startBroker } from "../../src/broker/broker.ts";
import { createRunDirectory } from "../../src/broker/run-directory.ts";
import { handlerCommand } from "../../src/render/handler-form.ts";
import { makeScratch, removeScratch } from "../broker/support.ts";

const LIBRARY = { startBroker, createRunDirectory, handlerCommand };
const SH = ["/bin/sh"];

let folder: string;
beforeEach(async () => {
  folder = await makeScratch();
});
afterEach(() => removeScratch(folder));

// A shell that is not installed shows as skipped, by its name.
for (const { name, argv = [] } of STORM_SHELLS) {
  test.skipIf(argv.length === 0)(
    `1,000 calls by 32 callers in ${name} each get their own answer, and nothing is left`,
    async () => {
      const requests = 1_000;
      const seen = await storm(LIBRARY, { folder, argv, requests, writers: 32 });
      expect(stormViolations(seen, requests)).toEqual([]);
    },
    240_000,
  );
}

test("an answer that belongs to another call is seen", async () => {
  const astray: typeof startBroker = (options) =>
    startBroker({
      ...options,
      answer: (event, raw, call) =>
        options.answer(
          event,
          String(raw).includes('"n":5,') ? String(raw).replace('"n":5,', '"n":7,') : raw,
          call,
        ),
    });
  const seen = await storm(
    { ...LIBRARY, startBroker: astray },
    { folder, argv: SH, requests: 20, writers: 4 },
  );
  expect(stormViolations(seen, 20)).toEqual([expect.stringMatching(/^wrong answer: call 5: .*not 7/)]);
});

test("an answer that does not come is seen", async () => {
  const mute: typeof startBroker = (options) =>
    startBroker({
      ...options,
      deadlineMs: () => 50,
      answer: (event, raw, call) =>
        String(raw).includes('"n":4,') ? new Promise(() => {}) : options.answer(event, raw, call),
    });
  const seen = await storm({ ...LIBRARY, startBroker: mute }, { folder, argv: SH, requests: 20, writers: 4 });
  expect(stormViolations(seen, 20)).toEqual([
    expect.stringMatching(/^wrong answer: call 4: .*no verdict within 50 ms/),
    expect.stringMatching(/^fault: deadline/),
  ]);
});

test("a claim that stays is seen", async () => {
  const littering: typeof createRunDirectory = async (options) => {
    const made = await createRunDirectory(options);
    await made.write(join("b", "x1.err"), "");
    return made;
  };
  const seen = await storm(
    { ...LIBRARY, createRunDirectory: littering },
    { folder, argv: SH, requests: 4, writers: 2 },
  );
  expect(stormViolations(seen, 4)).toEqual(["left behind: b/x1.err"]);
});
