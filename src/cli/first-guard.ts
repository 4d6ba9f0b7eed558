// What bridle init writes: a commented settings file, and a guard in node or sh that passes the self-tests in it. Text only.

export type Language = "node" | "sh";

export interface FirstFile {
  /** Below the project. */
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

const COMMANDS: Readonly<Record<Language, readonly [string, string]>> = {
  node: ["node", ".lionagi/hooks/guard.mjs"],
  sh: ["sh", ".lionagi/hooks/guard.sh"],
};

export function firstFiles(language: Language): readonly FirstFile[] {
  const [, path] = COMMANDS[language];
  return [
    { path: ".lionagi/settings.yaml", mode: 0o644, text: settings(language) },
    { path, mode: 0o755, text: language === "node" ? NODE_GUARD : SH_GUARD },
  ];
}

/** Commands that the guard is shown, as YAML strings. */
const DENIED = [
  "rm -rf /",
  "rm -fr ~",
  "'rm -r -f \"$HOME\"'",
  "cd /tmp && sudo rm -rf /*",
  "git push --force origin main",
  "git push -f",
  "git push origin +main",
];
const ALLOWED = ["ls", "rm -rf build", "rm notes.txt", "git push origin main", "git log -f"];

const settings = (
  language: Language,
) => `# yaml-language-server: $schema=../node_modules/agent-bridle/schema/hooks-external.json
#
# Hooks of this project. They run under claude and codex alike; commit this file and the guards beside it.
# Check:  bridle validate       what is wrong in this file
#         bridle test           what each guard answers to its self-tests
#         bridle list           what runs, in which order
# Run:    bridle run codex "Fix the failing test"

hooks_external:
  # Before a tool runs. A guard that denies, crashes or is late stops the call.
  PreToolUse:
    # Which calls: kind:shell, kind:edit, kind:read, kind:web, kind:mcp, kind:agent; a tool's name such as Write; or a pattern.
    - matcher: kind:shell
      hooks:
        - type: command
          # Program and arguments, one word each; no shell reads them. Relative to the folder that holds .lionagi.
          command: [${COMMANDS[language].join(", ")}]
          # Seconds. No answer in time denies.
          timeout: 10
          # What this guard must answer: bridle test asks it.
          selftest:
${DENIED.map((command) => selfTest(command, "deny")).join("")}${ALLOWED.map((command) => selfTest(command, "allow")).join("")}
  # More events: UserPromptSubmit, PostToolUse, Stop, SessionStart … and agent_exit, which runs once when the agent has ended:
  # agent_exit:
  #   - hooks:
  #       - type: command
  #         command: [node, .lionagi/hooks/report.mjs]
`;

const selfTest = (command: string, expect: string) =>
  `            - { input: { tool_input: { command: ${/^'/.test(command) ? command : JSON.stringify(command)} } }, expect: ${expect} }\n`;

const NODE_GUARD = String.raw`#!/usr/bin/env node
// A guard: it is asked before each shell command of the agent. It gets one JSON object on stdin and answers with its exit code:
// 0 has no objection, 2 denies, with the reason on stderr. Anything else is a failure, and denies too.
//
// It stops accidents, not attacks: a command can be hidden in a script or in quotes. Use the agent's sandbox against those.

import { text } from "node:stream/consumers";

const { tool_command: command = "" } = JSON.parse(await text(process.stdin));

/** Everything below these would be gone. */
const PRECIOUS = /^(?:\/+\*?|~\/?\*?|\$\{?HOME\}?\/?\*?|\/(?:root|home|Users)(?:\/[^/]+)?\/?\*?)$/;

function problemOf(words) {
  const rm = words.findIndex((word) => /^(?:.*\/)?rm$/.test(word));
  if (rm !== -1) {
    const rest = words.slice(rm + 1);
    const isRecursive = rest.some((word) => /^-[a-zA-Z]*[rR]|^--recursive$/.test(word));
    if (isRecursive && rest.some((word) => PRECIOUS.test(word))) return "deleting / or a home is not allowed";
  }
  const push = words.indexOf("push");
  if (push !== -1 && words.slice(0, push).some((word) => /^(?:.*\/)?git$/.test(word))) {
    const isForced = (word) => /^--force|^-[a-zA-Z]*f|^\+/.test(word);
    if (words.slice(push + 1).some(isForced)) return "force pushes are not allowed: push without --force, or ask";
  }
  return undefined;
}

for (const part of command.split(/[;&|\n]+/)) {
  const problem = problemOf(part.replaceAll(/["'()]/g, " ").split(/\s+/).filter(Boolean));
  if (problem !== undefined) {
    console.error(problem);
    process.exit(2);
  }
}
`;

const SH_GUARD = String.raw`#!/bin/sh
# A guard: it is asked before each shell command of the agent. It gets one JSON object on stdin and answers with its exit code:
# 0 has no objection, 2 denies, with the reason on stderr. Anything else is a failure, and denies too.
#
# It stops accidents, not attacks: a command can be hidden in a script or in quotes. Use the agent's sandbox against those.
# It looks at the whole envelope instead of reading JSON: with jq, "jq -r .tool_command" gives the command alone.

set -u
# One part of a command a line; quotes and escaped white space become blanks.
parts=$(sed -e 's/\\[nt]/ ; /g' -e 's/\\*["'"'"'()]/ /g' | tr ';&|' '\n\n\n') || exit 1

has() {
  printf '%s\n' "$parts" | grep -Eq -e "$1"
  case $? in
    0) return 0 ;;
    1) return 1 ;;
    *) exit 1 ;; # grep itself failed: that must not pass for "no"
  esac
}

flags='( +-[-a-zA-Z=]+)*'
recursive="$flags +(-[a-zA-Z]*[rR][a-zA-Z]*|--recursive)$flags"
precious='(/+\*?|~/?\*?|[$][{]?HOME[}]?/?\*?|/(root|home|Users)(/[^/ ]+)?/?\*?)'

if has "(^|[ /])rm$recursive( +[^ ]+)* +$precious( |$)"; then
  echo "deleting / or a home is not allowed" >&2
  exit 2
fi
if has "(^|[ /])git( +[^ ]+)* +push( +[^ ]+)* +(--force[^ ]*|-[a-zA-Z]*f[a-zA-Z]*|[+][^ ]+)( |$)"; then
  echo "force pushes are not allowed: push without --force, or ask" >&2
  exit 2
fi
exit 0
`;
