// The built command line against the real claude, which takes its server from the environment.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { findByMarker } from "../src/exec/sweep.ts";
import { startAnthropicServer } from "../src/prove/anthropic-server.ts";
import { loopbackProvider } from "../src/prove/provider-env.ts";
import { type ModelScript, scriptToken } from "../src/prove/script.ts";
import { RUN_MARKER } from "../src/spawn/environment.ts";
import { resolveNativeBinary } from "./binaries.ts";
import { makeSite, TOOL_PATH } from "./support/harness.ts";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

async function startCli(script: ModelScript, guard = "cat >/dev/null") {
  const site = makeSite();
  const token = scriptToken("cli");
  const server = await startAnthropicServer({ scripts: { [token]: script } });
  onTestFinished(() => server.close());
  const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: site.guard(guard) }] }] };
  writeFileSync(join(site.project, "hooks.json"), JSON.stringify({ hooks_external: hooks }));
  const words = [
    "run",
    "claude",
    "--json",
    "--hooks",
    "hooks.json",
    "--binary",
    resolveNativeBinary("claude"),
    "--allowed-tools",
    "Bash",
  ];
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd: site.project,
    env: {
      PATH: TOOL_PATH,
      HOME: site.home,
      TMPDIR: site.tmp,
      ...loopbackProvider("claude", server.url).env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.end(`Please go on. ${token}`);
  child.stderr.resume();
  return { child, site, lines: createInterface({ input: child.stdout }) };
}

/** Reads events until one fits; the run id of the first. */
async function readUntil(
  lines: AsyncIterable<string>,
  wanted: (event: { type: string; runId: string }) => boolean,
): Promise<string> {
  for await (const line of lines) {
    const event = JSON.parse(line);
    if (wanted(event)) return event.runId;
  }
  throw new Error("the events ended before the one that was waited for");
}

it("a guarded run succeeds with exit code 0, its prompt from stdin", async () => {
  const { child, lines, site } = await startCli([{ tools: [{ kind: "shell", command: "touch done.txt" }] }]);
  const exited = once(child, "exit");
  await readUntil(lines, ({ type }) => type === "result");
  expect((await exited)[0]).toBe(0);
  expect(site.has("done.txt")).toBe(true);
});

it.each([
  ["its reader goes away", (child: { stdout: { destroy(): void } }) => child.stdout.destroy()],
  ["SIGINT", (child: { kill(signal: NodeJS.Signals): unknown }) => child.kill("SIGINT")],
  ["SIGQUIT", (child: { kill(signal: NodeJS.Signals): unknown }) => child.kill("SIGQUIT")],
])("when %s, the agent and its tools end with the command, exit code 75", async (_what, disturb) => {
  const { child, lines } = await startCli([
    { tools: [{ kind: "shell", command: "setsid sleep 300 & sleep 300" }] },
  ]);
  const exited = once(child, "exit");
  const runId = await readUntil(lines, ({ type }) => type === "tool_call");
  disturb(child);
  expect((await exited)[0]).toBe(75);
  expect(findByMarker(RUN_MARKER, runId).processes).toEqual([]);
});

it.each([
  ["kind:shell", true],
  ["kind:mcp", false],
])("check warns of what codex does not ask a guard for %s: %s", async (matcher, warns) => {
  const site = makeSite();
  const group = { matcher, hooks: [{ type: "command", command: site.guard("cat >/dev/null") }] };
  writeFileSync(
    join(site.project, "hooks.json"),
    JSON.stringify({ hooks_external: { PreToolUse: [group] } }),
  );
  const words = ["check", "hooks.json", "--provider", "codex", "--binary", resolveNativeBinary("codex")];
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd: site.project,
    env: { PATH: TOOL_PATH, HOME: site.home, TMPDIR: site.tmp },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const printed = await text(child.stdout);
  expect((await exited)[0]).toBe(0);
  expect(printed.includes("warning hole_write_stdin: ")).toBe(warns);
});
