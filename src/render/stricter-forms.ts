// The stricter forms of a plan: what is rendered instead of a declared form that this CLI was seen not to honour, and what is always off
// because no guard would be asked.

import type { HookPlan } from "../compiler/plan.ts";
import { guardsShell } from "../compiler/shell-guard.ts";
import type { RunOptions } from "./provider.ts";

export interface StricterForm {
  readonly name: string;
  readonly effect: string;
  readonly why: string;
}

export function hasSubagents(
  { downgrades }: Pick<HookPlan, "downgrades">,
  { subagents }: RunOptions,
): boolean {
  return subagents !== false && !downgrades.some(({ name }) => name === "subagents-off");
}

const EFFECTS = {
  "rewrite-to-deny": "a guard's rewrite becomes a denial that names the wanted input",
  "subagents-off": "the agent is offered no tool that starts another agent",
} as const;

export function listStricterForms(plan: HookPlan, { interactiveShell }: RunOptions): StricterForm[] {
  const { provider, downgrades, events } = plan;
  const forms: StricterForm[] = downgrades.map(({ name, because }) => ({
    name,
    effect: EFFECTS[name],
    why: `the proof of this binary does not hold ${because.join(", ")}`,
  }));
  if (provider !== "codex") return forms;
  if (events.includes("PreToolUse"))
    forms.push({
      name: "web-search-off",
      effect: "hosted web search is switched off",
      why: "it never asks a PreToolUse guard (X-23)",
    });
  if (guardsShell(plan) && interactiveShell !== true)
    forms.push({
      name: "no-terminal",
      effect: "no command gets a terminal",
      why: "what is typed into one asks no hook (X-23, X-49)",
    });
  return forms;
}
