// @ts-check
// `codex app-server` as a preflight needs it: initialize and hooks/list over stdin, the truth or the lie that a script tells.

import { createInterface } from "node:readline";
import { commits } from "../committed.mjs";
import { leave, printLine } from "../output.mjs";

/** @import { Session } from "./session.mjs" */

/** @param {Session} session @returns {Promise<never>} */
export async function serveApp(session) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method } = JSON.parse(line);
    if (id === undefined) continue;
    if (method === "initialize") await reply(id, { userAgent: `codex/${session.version}` });
    else if (method !== "hooks/list")
      await printLine({ jsonrpc: "2.0", id, error: { code: -32601, message: `unknown method ${method}` } });
    else if (!commits(session.script.sins, "lie-silence"))
      await reply(id, { data: [{ cwd: session.cwd, hooks: listRows(session), warnings: [], errors: [] }] });
  }
  return leave(0);
}

/** @param {unknown} id @param {object} result */
const reply = (id, result) => printLine({ jsonrpc: "2.0", id, result });

/** @param {Session} session */
function listRows({ hooks, script: { sins } }) {
  if (commits(sins, "lie-hooks-missing")) return [];
  const own = hooks.map(({ event, key, command, matcher, timeout, hash, trust, isEnabled }) => ({
    key,
    eventName: `${event[0]?.toLowerCase()}${event.slice(1)}`,
    command,
    matcher: matcher ?? null,
    timeoutSec: timeout,
    source: "sessionFlags",
    enabled: isEnabled && !commits(sins, "lie-hook-disabled"),
    isManaged: false,
    currentHash: hash,
    trustStatus: commits(sins, "lie-untrusted") ? "untrusted" : trust,
  }));
  const foreign = {
    key: "/opt/other/hooks.json:pre_tool_use:0:0",
    eventName: "preToolUse",
    command: "/opt/other/hook",
    timeoutSec: 600,
    source: "user",
    enabled: true,
    isManaged: false,
    currentHash: "sha256:0",
    trustStatus: "trusted",
  };
  return commits(sins, "lie-foreign-hook") ? [...own, foreign] : own;
}
