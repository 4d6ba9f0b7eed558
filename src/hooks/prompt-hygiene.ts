// Denies prompts that hold secrets, characters that nobody sees, or too much. Says what and where, never the text itself.

import type { FunctionEntry } from "../declaration/types.ts";
import { addContext, deny } from "../profile/answer.ts";
import { checkCount, checkOptions, compilePatterns, type Pattern } from "./options.ts";
import { type Finding, findInvisible, findSecrets, placeOf } from "./prompt-text.ts";

export interface PromptHygieneOptions {
  /** Longest prompt, in UTF-16 units. @default 200000 */
  readonly maxChars?: number;
  /** RE2 expressions; a prompt that holds one of them is denied. @default [] */
  readonly denyPatterns?: readonly string[];
  /** RE2 expressions; the model is told that the prompt holds one of them. @default [] */
  readonly warnPatterns?: readonly string[];
}

const NAME = "promptHygiene";
const MAX_CHARS = 200_000;
/** Findings that a reason names. */
const SHOWN_MAX = 5;

/**
 * A guard for `UserPromptSubmit` and `agent_prompt`; on any other event it fails, which a gate denies. Throws `TypeError` for options that
 * cannot be used.
 * @example { agent_prompt: [{ hooks: [promptHygiene({ maxChars: 20_000 })] }] }
 */
export function promptHygiene(options: PromptHygieneOptions = {}): FunctionEntry {
  checkOptions(NAME, options, ["maxChars", "denyPatterns", "warnPatterns"]);
  const maxChars = checkCount(`${NAME}: maxChars`, options.maxChars ?? MAX_CHARS, 1);
  const denied = compilePatterns(`${NAME}: denyPatterns`, options.denyPatterns);
  const warned = compilePatterns(`${NAME}: warnPatterns`, options.warnPatterns);
  return {
    type: "function",
    name: NAME,
    handler: (envelope) => {
      const { prompt, hook_event_name: event } = envelope;
      if (event !== "UserPromptSubmit" && event !== "agent_prompt")
        throw new TypeError(
          `${NAME}: ${event} carries no prompt; declare it on UserPromptSubmit or agent_prompt`,
        );
      if (typeof prompt !== "string")
        return deny(envelope, `${NAME}: the prompt is no text and cannot be read`);
      if (prompt.length > maxChars)
        return deny(
          envelope,
          `${NAME}: the prompt has ${prompt.length} characters; at most ${maxChars} are admitted`,
        );
      const findings = [
        ...findSecrets(prompt),
        ...findInvisible(prompt),
        ...findPatterns(prompt, denied, "denyPatterns"),
      ];
      if (findings.length > 0)
        return deny(envelope, `${NAME}: the prompt holds ${describe(prompt, findings)}`);
      const warnings = findPatterns(prompt, warned, "warnPatterns");
      return warnings.length === 0
        ? undefined
        : addContext(envelope, `${NAME}: the prompt holds ${describe(prompt, warnings)}`);
    },
  };
}

function findPatterns(prompt: string, patterns: readonly Pattern[], option: string): Finding[] {
  return patterns.flatMap(({ compiled }, index) => {
    const matcher = compiled.matcher(prompt);
    return matcher.find() ? [{ what: `what ${option}[${index}] names`, index: matcher.start() }] : [];
  });
}

function describe(prompt: string, findings: readonly Finding[]): string {
  const shown = [...findings]
    .sort((a, b) => a.index - b.index)
    .slice(0, SHOWN_MAX)
    .map(({ what, index }) => `${what} at ${placeOf(prompt, index)}`);
  const more = findings.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
