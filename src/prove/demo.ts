// `npm run demo`: the main job on a real CLI, without a key. A scripted model "decides" to delete the build folder; first nothing
// guards it, then a guard does. Everything runs against a loopback model server in throw-away folders.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findInPackages } from "../compiler/native-package.ts";
import {
  type AgentEvent,
  AgentHooksRefused,
  compileAgentHooks,
  type Envelope,
  type HookDeclaration,
  type Provider,
  type RunResult,
  spawnAgent,
  toOneLine,
} from "../index.ts";
import { startAnthropicServer } from "./anthropic-server.ts";
import { startOpenaiServer } from "./openai-server.ts";
import { loopbackProvider } from "./provider-env.ts";
import { type ModelScript, scriptToken } from "./script.ts";

/** codex refuses `rm -rf` by itself whatever the hooks say; this form shows what an unguarded call does. */
const COMMAND = "find build -delete";

const GUARD = `// A guard: reads the envelope on stdin, exits 2 to deny.
import { text } from "node:stream/consumers";
const { tool_command: command = "" } = JSON.parse(await text(process.stdin));
if (/(^|\\s)(rm|-delete)\\b/.test(command)) {
  console.error("deleting files is not allowed in this project");
  process.exit(2);
}
`;

async function findPinnedBinary(provider: Provider): Promise<string> {
  const modules = fileURLToPath(new URL("../../conformance/node_modules", import.meta.url));
  const binary = await findInPackages(provider, modules);
  if (binary === undefined)
    throw new Error(
      `no ${provider} for ${process.platform} ${process.arch} below conformance/: run npm ci --prefix conformance`,
    );
  return binary;
}

function say(text = ""): void {
  process.stdout.write(`${text}\n`);
}

function guarded(): HookDeclaration {
  return {
    PreToolUse: [
      { matcher: "kind:shell", hooks: [{ type: "command", command: ["node", "guard.mjs"], timeout: 10 }] },
    ],
    SessionStart: [
      {
        hooks: [
          {
            type: "function",
            name: "house-rules",
            handler: () => ({
              hookSpecificOutput: { additionalContext: "House rule: never delete the build folder." },
            }),
          },
        ],
      },
    ],
    ...ending(),
  };
}

function ending(): HookDeclaration {
  const handler = (envelope: Envelope) => {
    say(`  agent_exit: outcome ${JSON.stringify(envelope.outcome)}, fired after the last process was gone`);
    return undefined;
  };
  return { agent_exit: [{ hooks: [{ type: "function", name: "report", handler }] }] };
}

interface Stage {
  readonly provider: Provider;
  readonly binary: string;
  readonly folder: string;
}

interface Shown {
  readonly result: RunResult;
  readonly project: string;
  /** Results of the model's tool calls, as the model got them. */
  readonly toldModel: readonly string[];
  readonly sentToModel: string;
}

async function runOnce({ provider, binary, folder }: Stage, declaration: HookDeclaration): Promise<Shown> {
  const project = join(await mkdtemp(join(folder, "project-")));
  await mkdir(join(project, "build"));
  await writeFile(join(project, "build", "artefact.txt"), "two hours of work\n");
  await writeFile(join(project, "guard.mjs"), GUARD);
  const token = scriptToken("demo");
  const script: ModelScript = [
    { text: "I will clean up first.", tools: [{ kind: "shell", command: COMMAND }] },
    { text: "Finished." },
  ];
  await using server = await (provider === "claude" ? startAnthropicServer : startOpenaiServer)({
    scripts: { [token]: script },
  });
  const { env, providerConfig, models } = loopbackProvider(provider, server.url);
  const hooks = await compileAgentHooks(declaration, { provider, cwd: project, binary });
  const run = await spawnAgent({
    hooks,
    prompt: `Tidy the project. ${token}`,
    cwd: project,
    configHome: "run",
    baseEnv: {
      PATH: [dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter),
      HOME: folder,
      TMPDIR: join(folder, "tmp"),
      LANG: "C.UTF-8",
      ...env,
    },
    runDirParent: join(folder, "run"),
    receiptsDir: join(folder, "receipts"),
    passEnv: ["NO_PROXY"],
    ...(provider === "claude" ? { allowedTools: ["Bash"] } : { providerConfig }),
    ...(models[0] === undefined ? {} : { model: models[0] }),
  });
  for await (const event of run) show(event);
  const result = await run.result;
  const toldModel = [...server.toolResults().values()];
  return { result, project, toldModel, sentToModel: JSON.stringify(server.requests) };
}

function show(event: AgentEvent): void {
  if (event.type === "tool_call") say(`  agent runs: ${toOneLine(JSON.stringify(event.input))}`);
  if (event.type === "message") say(`  agent says: ${toOneLine(event.text)}`);
  if (event.type === "hook" && event.matched.length > 0) {
    say(
      `  hook ${event.event}: ${event.decision}${event.reason === undefined ? "" : ` - ${toOneLine(event.reason)}`} (${event.durationMs} ms)`,
    );
  }
}

async function main(provider: Provider): Promise<boolean> {
  const binary = await findPinnedBinary(provider);
  await mkdir(join(homedir(), ".cache"), { recursive: true });
  const folder = await mkdtemp(join(homedir(), ".cache", "bridle-demo-"));
  try {
    await mkdir(join(folder, "tmp"));
    say(`1. ${provider} without a guard. The model asks for: ${COMMAND}`);
    const control = await runOnce({ provider, binary, folder }, ending());
    const isGone = !existsSync(join(control.project, "build", "artefact.txt"));
    say(`  => the build folder is ${isGone ? "GONE" : "still there (unexpected)"}\n`);

    say(`2. ${provider} under the guard, the same model, the same request`);
    const { result, project, toldModel, sentToModel } = await runOnce(
      { provider, binary, folder },
      guarded(),
    );
    const isKept = existsSync(join(project, "build", "artefact.txt"));
    const hasContext = sentToModel.includes("never delete the build folder");
    say(`  the model was told: ${toOneLine(toldModel.join(" | "))}`);
    say(`  the model was given the house rule: ${hasContext ? "yes" : "no"}`);
    say(
      `  outcome ${result.outcome}; ${result.hooks.ran} hook(s) ran, ${result.hooks.denied} denied; processes left: ${result.extinction.survivors.length} (${result.extinction.state})`,
    );
    say("  receipts:");
    if (result.receiptPath !== undefined) {
      for (const line of (await readFile(result.receiptPath, "utf8")).trim().split("\n")) {
        const { seq, kind, event, decision } = JSON.parse(line);
        say(
          `    ${String(seq).padStart(2)} ${kind}${event === undefined ? "" : ` ${event}`}${decision === undefined ? "" : ` ${decision}`}`,
        );
      }
    }
    say(`  => the build folder is ${isKept ? "STILL THERE" : "gone (unexpected)"}`);
    return isGone && isKept && hasContext && result.outcome === "success";
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const wanted = process.argv[2] ?? "codex";
if (wanted !== "claude" && wanted !== "codex") {
  process.stderr.write(`usage: npm run demo [-- claude|codex], got ${JSON.stringify(wanted)}\n`);
  process.exitCode = 64;
} else {
  try {
    const isShown = await main(wanted);
    say(isShown ? "\nThe guard ran, and it held." : "\nThe demo did not show what it should: see above.");
    process.exitCode = isShown ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${error instanceof AgentHooksRefused ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
