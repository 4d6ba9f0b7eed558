// What a caller holds while an agent runs.

import type { Provider } from "../profile/events.ts";
import type { AgentEvent } from "./events.ts";
import type { RunResult } from "./result.ts";

export interface AgentRun extends AsyncIterable<AgentEvent>, AsyncDisposable {
  /** Run id; also in every envelope, receipt and event. */
  readonly id: string;
  /** Process id of the provider CLI. */
  readonly pid: number;
  readonly provider: Provider;
  /** As the started CLI says it; where it does not, as `--version` said it. A fake's ends in `+fake`. */
  readonly providerVersion: string;
  /** Always resolves, whatever happened. */
  readonly result: Promise<RunResult>;
  /** Clean stop, SIGTERM after `interruptGraceMs`, KILL after `stopMs`. Resolves with the result. */
  stop(reason?: string): Promise<RunResult>;
  /** Asks the provider to interrupt its turn. The run then ends by itself, or is ended after `interruptGraceMs`. */
  interrupt(): Promise<RunResult>;
}
