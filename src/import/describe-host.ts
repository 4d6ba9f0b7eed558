// Some agents have hook files that look almost like claude's on purpose. Says which one a file seems to be for; decides nothing.

import { memberOf, type SourceNode } from "./source-tree.ts";

const GEMINI_EVENTS = ["BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"];

const CAMEL_CASE_EVENT =
  /^(?:(?:before|after)[A-Z]|(?:pre|post)(?:ToolUse|Compact)|session(?:Start|End)|userPromptSubmit|errorOccurred|subagentSt)/;

export function describeForeignHost(root: SourceNode): string | undefined {
  const hooks = memberOf(root, "hooks")?.value;
  const events = hooks?.kind === "object" ? hooks.members : [];
  const say = (host: string, sign: string) => `the file seems to be for ${host}: ${sign}`;
  for (const key of ["bash", "powershell", "timeoutSec"])
    if (events.some(({ value }) => hasKey(value, key))) return say("GitHub Copilot", `it has the key ${key}`);
  const gemini = events.find(({ key }) => GEMINI_EVENTS.includes(key));
  if (gemini !== undefined) return say("Gemini CLI", `it has the event ${gemini.key}`);
  const version = memberOf(root, "version")?.value;
  const isCamelCase = events.some(({ key }) => CAMEL_CASE_EVENT.test(key));
  if (version?.kind === "number" && version.value === 1)
    return say("Cursor or GitHub Copilot", `it has "version": 1`);
  return isCamelCase ? say("Cursor or GitHub Copilot", "its events begin with a small letter") : undefined;
}

/** In a group or in a handler of it. */
function hasKey(event: SourceNode, key: string): boolean {
  if (event.kind !== "list") return false;
  return event.items.some((group) => {
    if (memberOf(group, key) !== undefined) return true;
    const hooks = memberOf(group, "hooks")?.value;
    return hooks?.kind === "list" && hooks.items.some((handler) => memberOf(handler, key) !== undefined);
  });
}
