// claude's side of the control channel, for the fakes beside this file: answers the preflight from the settings it was given and
// hands the prompt over. Each fake has one behaviour of its own.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const option = (name) => process.argv.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
const settings = JSON.parse(readFileSync(option("--settings"), "utf8"));
const sessionId = option("--session-id");

export const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const ANSWERS = {
  initialize: { hook_on_failure_supported: true, claude_code_version: "2.1.332" },
  get_settings: {
    errors: [],
    effective: { hooks: settings.hooks },
    sources: [{ source: "flagSettings", settings }],
  },
  get_hooks_listing: {
    policy: {},
    hooks: Object.entries(settings.hooks).map(([event, [{ hooks }]]) => ({
      event,
      source: "flagSettings",
      commandText: hooks[0].command,
      disabled: false,
    })),
  },
};

/**
 * @param change what the fake says in place of the truth, by request; undefined: it says nothing.
 * @param isCanarySilent true: SessionStart is not fired.
 */
export function serve({ onPrompt, change = {}, isCanarySilent = false }) {
  // Like claude: SessionStart hooks have ended before anything is answered.
  const started =
    isCanarySilent || settings.hooks.SessionStart === undefined
      ? Promise.resolve()
      : fireHook("SessionStart", { source: "startup" });
  createInterface({ input: process.stdin }).on("line", async (text) => {
    await started;
    const line = JSON.parse(text);
    if (line.type === "user") {
      onPrompt(line.message.content[0].text);
      return;
    }
    if (line.type !== "control_request") return;
    const { subtype } = line.request;
    if (subtype === "interrupt") process.exit(0);
    const response = subtype in change ? change[subtype]?.(ANSWERS[subtype]) : ANSWERS[subtype];
    if (response === undefined) return;
    print({
      type: "control_response",
      response: { subtype: "success", request_id: line.request_id, response },
    });
  });
}

export const init = () => print({ type: "system", subtype: "init", session_id: sessionId, model: "fake" });

export const RESULT = {
  type: "result",
  subtype: "success",
  is_error: false,
  terminal_reason: "completed",
  num_turns: 1,
  result: "done",
  usage: { input_tokens: 1, output_tokens: 2 },
  total_cost_usd: 0.5,
};

/** Runs our handler for an event as claude does and resolves with how it ended. */
export function fireHook(event, fields) {
  const { command } = settings.hooks[event][0].hooks[0];
  const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stdin.on("error", () => {});
  child.stdin.end(
    JSON.stringify({ session_id: sessionId, cwd: process.cwd(), hook_event_name: event, ...fields }),
  );
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout })));
}
