// The public list of `agent-bridle/testkit`, nothing else.

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
