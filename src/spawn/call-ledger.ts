// Tool calls of one run by id: what their PreToolUse chain decided, and which of the admitted ones have not been seen to end.

import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import type { Verdict } from "../profile/verdict.ts";

export interface CallLedger {
  /** A `PreToolUse` hook is asked about the call. */
  ask(envelope: Envelope): void;
  /** It was asked about, and nothing was decided for anybody who still waited: the agent was stopped in between. */
  isUndecided(id: string): boolean;
  /** Notes what a `PreToolUse` chain decided and somebody still waited for. */
  decide(envelope: Envelope, verdict: Verdict): void;
  /** The agent reports the call's result. */
  end(id: string): void;
  isAdmitted(id: string): boolean;
  isDenied(id: string): boolean;
  /** Calls that a chain has decided about. */
  readonly decisions: number;
  /**
   * A guard rewrote this call, and what ran has the fields of the call as the agent asked for it, not as the guard wanted it.
   * @param ran what is known of the input that was carried out; only its fields are compared
   */
  ranOriginal(id: string, ran: Json): boolean;
  /** Admitted calls of the main agent that run a command, change files or call an MCP server. */
  readonly working: number;
  /** Ids of admitted calls without a result yet. */
  underWay(): string[];
}

export function createCallLedger(): CallLedger {
  const asked = new Set<string>();
  const admitted = new Set<string>();
  const denied = new Set<string>();
  const running = new Set<string>();
  const rewrites = new Map<string, { readonly original: JsonObject; readonly wanted: JsonObject }>();
  let working = 0;
  let decisions = 0;
  return {
    ask({ tool_use_id: id }) {
      if (typeof id === "string") asked.add(id);
    },
    isUndecided: (id) => asked.has(id) && !admitted.has(id) && !denied.has(id),
    decide({ tool_use_id: id, tool_kind: kind, agent_id: agent, tool_input: original }, verdict) {
      const { decision } = verdict;
      decisions += 1;
      if (typeof id === "string" && decision === "rewrite" && isJsonObject(original))
        rewrites.set(id, { original, wanted: verdict.updatedInput });
      if (typeof id === "string") (decision === "deny" ? denied : admitted).add(id);
      if (decision === "deny") return;
      if (typeof id === "string") running.add(id);
      // codex does not show a subagent's calls in its stream, so its admissions must not cover the main agent's.
      if (agent === undefined && ["shell", "edit", "mcp"].includes(String(kind))) working += 1;
    },
    end: (id) => void running.delete(id),
    isAdmitted: (id) => admitted.has(id),
    isDenied: (id) => denied.has(id),
    get decisions() {
      return decisions;
    },
    ranOriginal(id, ran) {
      const rewrite = rewrites.get(id);
      return (
        rewrite !== undefined &&
        isJsonObject(ran) &&
        agrees(ran, rewrite.original) &&
        !agrees(ran, rewrite.wanted)
      );
    },
    get working() {
      return working;
    },
    underWay: () => [...running],
  };
}

function agrees(ran: JsonObject, input: JsonObject): boolean {
  return Object.entries(ran).every(([key, value]) => isDeepStrictEqual(value, input[key]));
}
