// Verdicts of a chain, one after another, to one; and the envelope as the next hook must see it. Pure.

import type { JsonObject } from "../json.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import { capabilityOf, PROVIDERS, type Provider } from "../profile/events.ts";
import { describeTool, type ToolDescription } from "../profile/tool.ts";
import type { Verdict } from "../profile/verdict.ts";

/** What was said along the way, whatever the verdict is. */
export interface Said {
  /** Joined with a blank line. */
  readonly context?: string;
  readonly suppress?: true;
}

export interface VerdictFold {
  add(verdict: Verdict): void;
  /** What stands beside a denial. */
  hear(beside: Said): void;
  readonly said: Said;
  /** The envelope with the last rewrite in it. */
  readonly envelope: Envelope;
  readonly denied: boolean;
  readonly verdict: Verdict;
}

/** What is told of a tool anew when its input was rewritten; undefined when nothing can be told. */
export type DescribeCall = (envelope: Envelope, input: JsonObject) => ToolDescription | undefined;

export function createVerdictFold(original: Envelope, describe: DescribeCall = describeCall): VerdictFold {
  let envelope = original;
  let deny: Extract<Verdict, { decision: "deny" }> | undefined;
  let rewrite: Extract<Verdict, { decision: "rewrite" }> | undefined;
  let allowed = false;
  let everyGrants = true;
  let retry = false;
  let suppress = false;
  const contexts: string[] = [];
  const hear = ({ context, suppress: isSuppressed }: Said) => {
    if (context !== undefined && context !== "") contexts.push(context);
    if (isSuppressed === true) suppress = true;
  };
  const said = (): Said => ({
    ...(contexts.length === 0 ? {} : { context: contexts.join("\n\n") }),
    ...(suppress ? { suppress: true } : {}),
  });
  return {
    hear,
    get said() {
      return said();
    },
    add(verdict) {
      if (deny !== undefined) return;
      if (verdict.decision === "deny") {
        deny = verdict;
        return;
      }
      hear(verdict);
      if (verdict.decision === "allow") allowed = true;
      if (verdict.decision === "none" && verdict.retry === true) retry = true;
      if (verdict.decision !== "rewrite") return;
      rewrite = verdict;
      // One rewrite that must not grant is enough: what runs is no longer what the granting entry saw.
      if (!verdict.grants) everyGrants = false;
      envelope = withInput(envelope, verdict.updatedInput, describe);
    },
    get envelope() {
      return envelope;
    },
    get denied() {
      return deny !== undefined;
    },
    get verdict(): Verdict {
      if (deny !== undefined) return deny;
      const context = said();
      if (rewrite !== undefined) {
        return { decision: "rewrite", updatedInput: rewrite.updatedInput, grants: everyGrants, ...context };
      }
      if (allowed) return { decision: "allow", ...context };
      return { decision: "none", ...context, ...(retry ? { retry: true as const } : {}) };
    },
  };
}

/** The input replaced whole, and what Bridle derives from it told anew. */
function withInput(envelope: Envelope, input: JsonObject, describe: DescribeCall): Envelope {
  const { rewrites = "tool_input" } = capabilityOf(envelope.hook_event_name);
  const next: Envelope = { ...envelope, [rewrites]: input };
  const description = rewrites === "tool_input" ? describe(envelope, input) : undefined;
  if (description === undefined) return next;
  delete next.tool_command;
  delete next.tool_paths;
  return Object.assign(next, description);
}

function describeCall(
  { tool_name: name, provider }: Envelope,
  input: JsonObject,
): ToolDescription | undefined {
  return typeof name === "string" && isProvider(provider) ? describeTool(name, input, provider) : undefined;
}

function isProvider(value: unknown): value is Provider {
  return (PROVIDERS as readonly unknown[]).includes(value);
}
