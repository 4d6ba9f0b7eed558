// What the table of sins says beyond one case a sin.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { Provider } from "../../src/index.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { deny, play } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const WORK: FakeScript = { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "done" }] };
const TALK: FakeScript = { steps: [{ text: "done" }] };

const cases: [string, Provider, FakeScript, object][] = [
  [
    "skip-event of PreToolUse",
    "claude",
    { ...WORK, sins: [{ "skip-event": "PreToolUse" }] },
    { outcome: "unenforced" },
  ],
  [
    "skip-event of PreToolUse",
    "codex",
    { ...WORK, sins: [{ "skip-event": "PreToolUse" }] },
    { outcome: "unenforced" },
  ],
  [
    "exit-before-prompt with 0",
    "claude",
    { ...TALK, sins: [{ "exit-before-prompt": 0 }] },
    { outcome: "incomplete" },
  ],
  [
    "exit-before-prompt with 0",
    "codex",
    { ...TALK, sins: [{ "exit-before-prompt": 0 }] },
    { outcome: "incomplete" },
  ],
  [
    "drop-flag of a flag that only exec is given",
    "codex",
    { ...TALK, sins: [{ "drop-flag": "--json" }] },
    { outcome: "failed", exitCode: 2, stderrTail: expect.stringContaining("--json") },
  ],
  [
    "strip-settings-after-preflight without a call",
    "codex",
    { ...TALK, sins: ["strip-settings-after-preflight"] },
    { outcome: "unenforced", reason: expect.stringMatching(/^canary: /) },
  ],
];
test.each(cases)("%s, %s", async (_name, provider, script, ends) => {
  const { result } = await play(place, { provider, script, handlers: { PreToolUse: deny } });
  expect(result).toMatchObject(ends);
});
