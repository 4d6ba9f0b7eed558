// The judge finds what is not as expected: each expectation beside an observation that meets it and one that does not.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { judge } from "../../../src/prove/matrix/judge.ts";
import type { Observation } from "../../../src/prove/matrix/observation.ts";
import type { Expectation } from "../../../src/prove/matrix/schema.ts";
import { type Stage, setStage } from "../../../src/prove/matrix/stage.ts";

const hooks = { fired: 1, ran: 1, denied: 1, failed: 0, late: 0 };
const seen: Observation = {
  refusal: undefined,
  outcome: "success",
  reason: "completed",
  hooks,
  warnings: ["ambient_dropped: a file: its hooks do not run"],
  receipt: '{"kind":"hook","notes":[{"code":"allow_not_granted"}]}',
  told: "REASON-OF-THE-GUARD",
  sent: '{"system":"WORDS"}',
  offered: ["Bash", "collaboration.spawn_agent"],
  modelCalls: 2,
};
const refused: Observation = {
  ...seen,
  outcome: undefined,
  hooks: undefined,
  modelCalls: 0,
  refusal: { codes: ["matcher_invalid"], message: "" },
};
const envelope = {
  hook_event_name: "Stop",
  session_id: "s",
  cwd: "/x",
  harness: "lionagi",
  profile: "v1",
  run_id: "r",
  provider: "claude",
  provider_session_id: "p",
  list: [{ a: 1, b: 2 }, "text"],
};

async function makeStage(): Promise<Stage> {
  const scratch = mkdtempSync(join(tmpdir(), "bridle-judge-test-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  const stage = await setStage(scratch);
  writeFileSync(stage.at("there"), "");
  writeFileSync(join(stage.notes, "lines"), `first in ${stage.project}\nsecond\n`);
  writeFileSync(
    join(stage.notes, "seen"),
    `${JSON.stringify(envelope)}\n${JSON.stringify({ ...envelope, last: true })}\n`,
  );
  writeFileSync(join(stage.notes, "cut"), `{"hook_event_name":\n`);
  writeFileSync(join(stage.notes, "poor"), `${JSON.stringify({ ...envelope, profile: "v0" })}\n`);
  return stage;
}

const fails = (expectation: Expectation, stage: Stage, observation = seen) =>
  judge(expectation, observation, stage).filter(({ holds }) => !holds);

it.each<[string, Expectation, Expectation]>([
  ["a file that must be there", { present: ["there"] }, { present: ["gone"] }],
  ["a file that must not", { absent: ["gone"] }, { absent: ["there"] }],
  ["what the model was told", { told: ["REASON"] }, { told: ["ANOTHER"] }],
  ["what it was not told", { untold: ["ANOTHER"] }, { untold: ["REASON"] }],
  ["what it was sent", { sent: ["WORDS"] }, { sent: ["ANOTHER"] }],
  ["what it was not sent", { unsent: ["ANOTHER"] }, { unsent: ["WORDS"] }],
  ["a tool offered", { offered: ["Bash"] }, { offered: ["Bas"] }],
  ["a tool offered by its beginning", { offered: ["collaboration.*"] }, { offered: ["multi.*"] }],
  ["a tool not offered", { unoffered: ["Agent", "multi.*"] }, { unoffered: ["collaboration.*"] }],
  [
    "a note and its words",
    { notes: { lines: ["first in %project%\nsecond"] } },
    { notes: { lines: ["third"] } },
  ],
  ["a note at all", { notes: { lines: [] } }, { notes: { gone: [] } }],
  ["no note", { unnoted: ["gone"] }, { unnoted: ["lines"] }],
  ["the number of lines", { lines: { lines: 2, gone: 0 } }, { lines: { lines: 1 } }],
  ["the outcome", { outcome: "success" }, { outcome: "unenforced" }],
  ["the reason", { reason: "^comp" }, { reason: "^tampered" }],
  ["denials", { denied: 1 }, { denied: 0 }],
  ["failures", { failed: 0 }, { failed: 1 }],
  ["model calls", { model_calls: 2 }, { model_calls: 0 }],
  ["a warning", { warnings: ["ambient_dropped: a file"] }, { warnings: ["env_dropped"] }],
  ["the receipt", { receipt: ["allow_not_granted"] }, { receipt: ["hook_failed"] }],
  [
    "an envelope",
    { envelopes: { seen: [{ session_id: "s" }] } },
    { envelopes: { seen: [{ session_id: "t" }] } },
  ],
  [
    "envelopes in order",
    { envelopes: { seen: [{ hook_event_name: "Stop" }, { last: true }] } },
    { envelopes: { seen: [{ last: true }, { hook_event_name: "Stop" }] } },
  ],
  [
    "a part of a text",
    { envelopes: { seen: [{ harness: "~lion" }] } },
    { envelopes: { seen: [{ harness: "~tiger" }] } },
  ],
  [
    "a field that is absent",
    { envelopes: { seen: [{ model: "%absent%" }] } },
    { envelopes: { seen: [{ cwd: "%absent%" }] } },
  ],
  [
    "a list by its parts",
    { envelopes: { seen: [{ list: [{ b: 2 }] }] } },
    { envelopes: { seen: [{ list: [{ b: 3 }] }] } },
  ],
  ["lines that are envelopes", { envelopes: { seen: [] } }, { envelopes: { cut: [] } }],
  ["lines that fit the profile", { envelopes: { seen: [] } }, { envelopes: { poor: [] } }],
  ["lines that were written", { envelopes: { seen: [{}] } }, { envelopes: { gone: [{}] } }],
])("judges %s", async (_what, right, wrong) => {
  const stage = await makeStage();
  expect(fails(right, stage)).toEqual([]);
  expect(fails(wrong, stage)).not.toEqual([]);
});

it("judges a refusal by its code, and takes no run for one nor one for a run", async () => {
  const stage = await makeStage();
  expect(fails({ refused: "matcher_invalid", model_calls: 0 }, stage, refused)).toEqual([]);
  expect(fails({ refused: "event_unknown" }, stage, refused)).toMatchObject([{ got: "matcher_invalid" }]);
  expect(fails({ refused: "matcher_invalid" }, stage)).toMatchObject([{ got: "not refused" }]);
  expect(fails({ absent: ["gone"] }, stage, refused)).toMatchObject([{ what: "not refused" }]);
});
