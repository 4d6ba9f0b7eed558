// The public list of the compatibility profile.

export { DIVERGENCES, type Divergence } from "./divergences.ts";
export { ENVELOPE_SCHEMAS } from "./envelope.ts";
export type { Envelope, ToolKind } from "./envelope-types.ts";
export { EVENTS, type EventCapability, type EventName, type EventRole, type Provider } from "./events.ts";
export { interpret } from "./interpret.ts";
export { compileMatcher, type Matcher } from "./matcher.ts";
export { describeTool } from "./tool.ts";
export type { HookExit, Interpretation, Note, Verdict } from "./verdict.ts";
export type { Where } from "./where.ts";
