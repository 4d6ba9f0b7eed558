// A tool made of others. Every step goes through the gate by itself: a composite is no way around a guard of what it is made of.

import type { JsonObject } from "../../json.ts";
import { messageOf } from "../../message-of.ts";
import { ToolFailure } from "../tool-failure.ts";
import type { HostTool, ToolOutcome } from "../tool-types.ts";

export interface CompositeStep {
  /** A registered tool. */
  readonly tool: string;
  /** Its input, from the composite's own and the results before it. */
  readonly input: (given: JsonObject, results: readonly unknown[]) => JsonObject;
}

export type CompositeTool = Pick<HostTool, "name" | "description" | "input" | "kind" | "destructive"> & {
  readonly steps: readonly CompositeStep[];
};

/** Steps run one after another; the first that is denied or fails ends it, and the failure names the step. The result is the last step's. */
export function compositeTool({ steps, ...tool }: CompositeTool): HostTool {
  if (steps.length === 0) throw new TypeError(`tool ${tool.name}: a composite needs a step`);
  return {
    ...tool,
    async run(given: JsonObject, { invoke, tell }) {
      const results: unknown[] = [];
      for (const [index, step] of steps.entries()) {
        const outcome = await invoke(step.tool, step.input(structuredClone(given), results));
        tell(outcome);
        if (outcome.status !== "ok") throw new ToolFailure(describeEnd(index, outcome), { outcome, results });
        results.push(outcome.result);
      }
      return results.at(-1);
    },
  };
}

function describeEnd(index: number, outcome: Exclude<ToolOutcome, { status: "ok" }>): string {
  const why =
    outcome.status === "denied" ? `was denied: ${outcome.reason}` : `failed: ${messageOf(outcome.error)}`;
  return `step ${index + 1}, ${outcome.tool}, ${why}`;
}
