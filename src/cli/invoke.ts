// bridle invoke: the hooks of one event on one envelope, step by step, without an agent.

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Argument, type Command, InvalidArgumentError } from "commander";
import {
  AgentHooksRefused,
  createRedactor,
  EVENTS,
  type EventName,
  type Invoked,
  invokeHooks,
  type JsonObject,
  type Provider,
  toOneLine,
} from "../index.ts";
import { parseProvider } from "./compile-file.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { addTrustOption, loadHooks } from "./load-hooks.ts";

interface InvokeFlags {
  readonly input?: string;
  readonly provider?: Provider;
  readonly cwd: string;
  readonly hooks?: string;
  readonly requireTrustedProject?: boolean;
  readonly json?: boolean;
}

export function addInvokeCommand(program: Command): void {
  addTrustOption(program.command("invoke"))
    .description("run the hooks of one event on one envelope, without an agent, and show each step")
    .addArgument(new Argument("<event>", "for example PreToolUse").argParser(parseEvent))
    .option("--input <file>", "a JSON object laid over a stock envelope of the event; - is stdin")
    .option("--provider <name>", "whose call it is (default: claude)", parseProvider)
    .option("--cwd <dir>", "whose settings are read", ".")
    .option("--hooks <file>", "a file as it is given to bridle run, in the place of the settings")
    .option("--json", "one JSON object on stdout")
    .addHelpText(
      "after",
      `
Exit codes: 0 the action would go on; 1 it is denied; 78 a run would be refused.

Examples:
  bridle invoke PreToolUse
  echo '{"tool_input":{"command":"rm -rf /"}}' | bridle invoke PreToolUse --input -
  bridle invoke UserPromptSubmit --input prompt.json --hooks hooks.yaml --json`,
    )
    .action(
      async (
        event: EventName,
        { input, provider, cwd, hooks, requireTrustedProject, json = false }: InvokeFlags,
      ) => {
        const given = input === undefined ? {} : await readInput(input);
        const loaded = await loadHooks({ file: hooks, cwd, requireTrustedProject });
        const invoked = await invokeHooks(event, loaded, {
          input: given,
          ...(provider === undefined ? {} : { provider }),
        });
        const shown = createRedactor({ env: process.env }).json(invoked);
        if (json) process.stdout.write(`${JSON.stringify({ type: "invoked", event, ...shown })}\n`);
        else process.stdout.write(`${describeInvoked(event, shown).map(toOneLine).join("\n")}\n`);
        process.exitCode = exitCodeOfInvoked(invoked);
      },
    );
}

function parseEvent(value: string): EventName {
  if (Object.hasOwn(EVENTS, value)) return value as EventName;
  throw new InvalidArgumentError(`known: ${Object.keys(EVENTS).join(", ")}`);
}

async function readInput(from: string): Promise<JsonObject> {
  const refuse = (message: string) =>
    new AgentHooksRefused([
      {
        code: "option_invalid",
        path: `--input ${from}`,
        message,
        hint: 'for example {"tool_input":{"command":"ls"}}',
      },
    ]);
  try {
    const value: unknown = JSON.parse(
      from === "-" ? await text(process.stdin) : await readFile(from, "utf8"),
    );
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch (error) {
    throw refuse(`cannot be read as JSON: ${(error as Error).message}`);
  }
  throw refuse("is not a JSON object");
}

export function exitCodeOfInvoked({ isRefused, verdict }: Pick<Invoked, "isRefused" | "verdict">): number {
  if (isRefused) return EXIT_CODES.refused;
  return verdict.decision === "deny" ? EXIT_CODES.failed : EXIT_CODES.success;
}

export function describeInvoked(event: EventName, { steps, notRun, verdict, isRefused }: Invoked): string[] {
  const lines = steps.map(({ id, origin, got, ms, exit, reason, background }) => {
    const where = origin === undefined ? "" : `  ${origin}`;
    const beside = background === true ? " in the background" : "";
    return `${id}  ${got}${beside}  ${ms} ms  ${exit}${reason === "" ? "" : `: ${reason}`}${where}`;
  });
  const left = notRun.map(({ id, state, problem }) => `${id}  NOT RUN (${state}): ${problem}`);
  if (lines.length + left.length === 0) lines.push(`no hook is declared for ${event}`);
  return [
    ...lines,
    ...left,
    `verdict: ${describeVerdict(verdict)}`,
    ...(isRefused ? ["a run would be refused: a hook above does not run"] : []),
  ];
}

function describeVerdict(verdict: Invoked["verdict"]): string {
  if (verdict.decision === "deny") return `deny: ${verdict.reason}`;
  const context = verdict.context === undefined ? "" : `, with context: ${verdict.context}`;
  if (verdict.decision === "rewrite") return `rewrite to ${JSON.stringify(verdict.updatedInput)}${context}`;
  return `${verdict.decision === "none" ? "none: the agent's own rules decide" : "allow"}${context}`;
}
