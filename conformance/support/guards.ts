// Guards that the cases share, as declarations.

import type { HookDeclaration, HookEntry } from "../../src/index.ts";
import type { Site } from "./harness.ts";

/** Lines of a `sh` guard that print a PreToolUse answer. */
const printTool = (answer: object): string =>
  `cat >/dev/null\nprintf '%s\\n' '${JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse", ...answer } })}'`;

export const DENY = printTool({
  permissionDecision: "deny",
  permissionDecisionReason: "REASON-OF-THE-GUARD",
});

/** Denies a call whose envelope holds the word, admits the others. */
export const denyWhen = (word: string): string =>
  `envelope=$(cat)\ncase $envelope in *${word}*) ${DENY.split("\n")[1]} ;; esac`;

export function onTools(entry: HookEntry, matcher?: string): HookDeclaration {
  return { PreToolUse: [{ ...(matcher === undefined ? {} : { matcher }), hooks: [entry] }] };
}

/** A `PreToolUse` guard from the source of a `sh` script. */
export const guardTools =
  (
    source: string,
    more: Omit<Extract<HookEntry, { type: "command" }>, "type" | "command"> = {},
    matcher?: string,
  ) =>
  (site: Site): HookDeclaration =>
    onTools({ type: "command", command: site.guard(source), ...more }, matcher);
