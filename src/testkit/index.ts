// The public list of `agent-bridle/testkit`, nothing else.

export { CassetteInvalid } from "./cassette/format.ts";
export { type RecordedRun, recordRun } from "./cassette/record-run.ts";
export { type ReplayOptions, replayRun } from "./cassette/replay-run.ts";
export { FakeScriptInvalid } from "./fake/script.mjs";
export { SINS } from "./fake/sins.mjs";
export { createFakeProvider, type FakeProvider, type FakeProviderOptions } from "./fake-provider.ts";
export type {
  FakeScript,
  FakeStep,
  FakeTool,
  SinAt,
  SinName,
  SinPlace,
  SinRow,
  SinValue,
} from "./script-types.ts";
