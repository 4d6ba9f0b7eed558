// What a call may say of itself, checked before anything is asked.

import { isAbsolute } from "node:path";
import { type Issue, refuseIfAny } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { isInstance } from "../message-of.ts";
import { isPermissionMode, PERMISSION_MODES } from "./permission.ts";
import type { ToolCallContext } from "./tool-types.ts";

const CONTEXT_KEYS = ["sessionId", "toolUseId", "agentId", "agentType", "cwd", "signal", "permission"];

/** Throws `AgentHooksRefused`, `option_invalid`. A word that nobody reads would be a mode, a directory or a session that is silently another. */
export function checkContext(context: ToolCallContext): void {
  const issues: Issue[] = [];
  const expect = (isRight: boolean, path: string, what: string, value: unknown) => {
    if (isRight) return;
    const shown = typeof value === "object" ? "an object" : String(value);
    issues.push({
      code: "option_invalid",
      path,
      message: `expected ${what}, got ${typeof value === "string" ? JSON.stringify(value) : shown}`,
      hint: "",
    });
  };
  if (!isJsonObject(context)) expect(false, "context", "an object", context);
  for (const [key, value] of Object.entries(isJsonObject(context) ? context : {}) as [string, unknown][]) {
    if (value === undefined) continue;
    if (key === "permission") expect(isPermissionMode(value), key, PERMISSION_MODES.join(", "), value);
    else if (key === "cwd")
      expect(typeof value === "string" && isAbsolute(value), key, "an absolute path", value);
    else if (key === "signal") expect(isInstance(value, AbortSignal), key, "an AbortSignal", value);
    else if (CONTEXT_KEYS.includes(key)) expect(typeof value === "string", key, "a text", value);
    else expect(false, key, `one of ${CONTEXT_KEYS.join(", ")}`, value);
  }
  refuseIfAny(issues);
}
