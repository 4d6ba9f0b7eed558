// Events that claude can be given as callbacks over its own pipes.

import type { EventName } from "../../profile/events.ts";

/**
 * SessionStart and SessionEnd are registered and never asked (C-50). A prompt whose UserPromptSubmit callback is pending when the input
 * ends goes to the model all the same (C-51), so its gate stays with the shim. Events that nobody waits for cost nothing there.
 */
export const CALLBACK_EVENTS: readonly EventName[] = [
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PermissionRequest",
  "Stop",
  "SubagentStart",
  "SubagentStop",
];
