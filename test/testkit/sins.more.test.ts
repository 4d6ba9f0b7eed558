// What the table of sins says beyond one case a sin.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { Provider } from "../../src/index.ts";
import type { FakeScript } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { deny, type Handler, play, rewrite } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const WORK: FakeScript = { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "done" }] };
const TALK_STEP = { text: "done" };
const TALK: FakeScript = { steps: [TALK_STEP] };
const success = { outcome: "success" };
const noRecord = { outcome: "unenforced", reason: expect.stringMatching(/^session_record: /) };

/** A tool that codex asks about and shows nothing of. */
const UNSHOWN = { raw: { name: "someTool", input: { command: "x" } } };
const unasked = { outcome: "unenforced", reason: expect.stringMatching(/^unasked: /) };

const cases: [string, Provider, FakeScript, object, Record<string, Handler>?][] = [
  [
    "skip-hook behind an admitted call that is never shown",
    "codex",
    { steps: [{ tools: [UNSHOWN] }, { tools: [{ shell: "touch ran", sins: ["skip-hook"] }] }] },
    unasked,
    {},
  ],
  [
    "an admitted call that is never shown",
    "codex",
    { steps: [{ tools: [UNSHOWN] }, TALK_STEP] },
    success,
    {},
  ],
  ["no-record of a run without a call", "codex", { ...TALK, sins: ["no-record"] }, success],
  ["no-record of a run whose call was denied", "codex", { ...WORK, sins: ["no-record"] }, noRecord],
  [
    "ignore-deny of a rewrite that codex could not read and so was denied",
    "codex",
    { steps: [{ tools: [{ shell: "touch ran", sins: ["ignore-deny"] }] }, TALK_STEP] },
    unasked,
    { PreToolUse: () => ({ hookSpecificOutput: { updatedInput: { timeout: 1 } } }) },
  ],
  [
    "skip-event of SessionStart",
    "codex",
    { ...TALK, sins: [{ "skip-event": "SessionStart" }] },
    { outcome: "unenforced", reason: expect.stringMatching(/^canary: /) },
  ],
  [
    "skip-event of UserPromptSubmit in a run that says nothing",
    "claude",
    { steps: [], sins: [{ "skip-event": "UserPromptSubmit" }] },
    { outcome: "unenforced", reason: expect.stringMatching(/^never_asked: UserPromptSubmit /) },
    { UserPromptSubmit: () => undefined },
  ],
  [
    "ignore-rewrite without a PostToolUse hook",
    "claude",
    { steps: [{ tools: [{ shell: "touch ran", sins: ["ignore-rewrite"] }] }, TALK_STEP] },
    success,
    { PreToolUse: rewrite },
  ],
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
test.each(cases)("%s, %s", async (_name, provider, script, ends, handlers = { PreToolUse: deny }) => {
  const { result } = await play(place, { provider, script, handlers });
  expect(result).toMatchObject(ends);
});
