// Which rows of the table of divergences a hook meets when it moves from its host to here.

import { capabilityOf, type EventName } from "../profile/events.ts";

export function divergencesOf({
  event,
  isShellText,
  namesTools,
}: {
  event: EventName;
  isShellText: boolean;
  namesTools: boolean;
}): string[] {
  const { role, accepts, subject } = capabilityOf(event);
  const isGate = role === "gate";
  const applies: Readonly<Record<string, boolean>> = {
    "Dv1-1": true,
    "Dv1-2": namesTools || subject === "tool_name",
    "Dv1-3": isShellText,
    "Dv1-4": isGate,
    "Dv1-5": isGate,
    "Dv1-6": accepts.includes("allow"),
    "Dv1-7": event === "UserPromptSubmit",
    "Dv1-8": isGate,
    "Dv1-9": true,
    "Dv1-10": event === "Stop",
    "Dv1-11": event === "PostToolUseFailure",
  };
  return Object.keys(applies).filter((id) => applies[id]);
}
