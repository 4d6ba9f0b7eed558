// agent-bridle/trace: runs as OpenTelemetry spans.

export { type OpenTelemetryOptions, openTelemetry } from "./open-telemetry.ts";
export type { RunTrace, RunTracer, TracedRun } from "./run-tracer.ts";
