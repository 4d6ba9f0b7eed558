// What a scripted model "decides", without naming a provider. The loopback servers translate it.
// A script is found by a token in the prompt and its step by the conversation, never by counting requests:
// side requests, retries and subagents would shift a counter.

import { createHash } from "node:crypto";
import type { JsonObject } from "../json.ts";

export type ToolUse =
  | { readonly kind: "shell"; readonly command: string; readonly id?: string }
  | { readonly kind: "write"; readonly path: string; readonly content: string; readonly id?: string }
  /** A patch in the `*** Begin Patch` form. codex only: claude has no such tool. */
  | { readonly kind: "edit-patch"; readonly patch: string; readonly id?: string }
  /** A subagent, which follows its own script. The server puts that script's token behind the prompt. */
  | { readonly kind: "agent"; readonly prompt: string; readonly script: ModelScript; readonly id?: string }
  /** The provider's own tool name, for example `mcp__server__tool`. A string input makes a codex custom call. */
  | {
      readonly kind: "raw";
      readonly name: string;
      readonly input: JsonObject | string;
      readonly id?: string;
    };

export type Fault =
  /** Answers with this status. `times`: only the first N requests of the step, then the step itself. @default every one */
  | { readonly kind: "status"; readonly status: number; readonly message?: string; readonly times?: number }
  /** Accepts the request and never answers; with `afterStart` the stream begins and then stays silent. */
  | { readonly kind: "hang"; readonly afterStart?: boolean }
  /** The model refuses: claude's stop reason `refusal`, a `refusal` part for codex. The step's text is what it says. */
  | { readonly kind: "refuse" }
  /** Ends the connection in the middle of the answer. */
  | { readonly kind: "cut" }
  /** Sends the answer in small pieces. @default 16 bytes every 10 ms */
  | { readonly kind: "drip"; readonly bytes?: number; readonly intervalMs?: number }
  /** Adds a text of this many bytes before the step's own text. */
  | { readonly kind: "big-text"; readonly bytes: number }
  /** Repeats this step's tool calls for `turns` turns. @default for ever */
  | { readonly kind: "tool-loop"; readonly turns?: number };

export interface ModelStep {
  readonly text?: string;
  /** Several tools in one step are one answer: parallel calls. */
  readonly tools?: readonly ToolUse[];
  readonly fault?: Fault;
}

/** After the last step the model says {@link FINAL_TEXT} and ends its turn. */
export type ModelScript = readonly ModelStep[];

/**
 * Scripts by token. A token is any text that the prompt contains literally; the token that appears last in the
 * conversation decides. Give each prompt its own: {@link scriptToken}.
 */
export type ModelScripts = Readonly<Record<string, ModelScript>>;

export const FINAL_TEXT = "done";

/** A token that no ordinary prompt contains: `[[model-script:NAME]]`. */
export function scriptToken(name: string): string {
  return `[[model-script:${name}]]`;
}

/** One script with its token; `mark` is the short form that call ids carry. */
export interface IndexedScript {
  readonly token: string;
  readonly mark: string;
  readonly script: ModelScript;
  /** Tokens of the subagents' scripts, by `STEP.TOOL`. */
  readonly agents: ReadonlyMap<string, string>;
}

/** Lists every script by token, subagents' scripts included. Throws on an empty token. */
export function indexScripts(scripts: ModelScripts): Map<string, IndexedScript> {
  const index = new Map<string, IndexedScript>();
  const add = (token: string, script: ModelScript): void => {
    if (token.trim() === "") throw new TypeError("A model script needs a token that is not blank.");
    const mark = createHash("sha256").update(token).digest("hex").slice(0, 10);
    const agents = new Map<string, string>();
    index.set(token, { token, mark, script, agents });
    script.forEach((step, stepIndex) => {
      step.tools?.forEach((tool, toolIndex) => {
        if (tool.kind !== "agent") return;
        const agentToken = scriptToken(`agent-${mark}-${stepIndex}-${toolIndex}`);
        agents.set(`${stepIndex}.${toolIndex}`, agentToken);
        add(agentToken, tool.script);
      });
    });
  };
  for (const [token, script] of Object.entries(scripts)) add(token, script);
  return index;
}

/** The step that answers turn N of a conversation: a tool loop takes several turns. Undefined after the last step. */
export function stepForTurn(
  script: ModelScript,
  turn: number,
): { step: ModelStep; stepIndex: number; repeat: number } | undefined {
  let first = 0;
  for (const [stepIndex, step] of script.entries()) {
    const turns = step.fault?.kind === "tool-loop" ? (step.fault.turns ?? Number.POSITIVE_INFINITY) : 1;
    if (turn < first + turns) return { step, stepIndex, repeat: turn - first };
    first += turns;
  }
  return undefined;
}

/** One call of an answer, named and ready for a provider's encoder. */
export interface PlannedCall {
  readonly id: string;
  readonly tool: ToolUse;
  /** Set for a subagent: its prompt with its token. */
  readonly agentPrompt?: string;
  readonly agentToken?: string;
}

/** Names the calls of one step. Ids carry script and turn, so that a later request shows which turn it follows. */
export function planCalls(indexed: IndexedScript, turn: number): PlannedCall[] {
  const found = stepForTurn(indexed.script, turn);
  if (found === undefined) return [];
  return (found.step.tools ?? []).map((tool, toolIndex) => {
    const own =
      tool.id === undefined ? undefined : found.repeat === 0 ? tool.id : `${tool.id}-${found.repeat}`;
    const id = own ?? callId({ mark: indexed.mark, turn, part: String(toolIndex) });
    if (tool.kind !== "agent") return { id, tool };
    const agentToken = indexed.agents.get(`${found.stepIndex}.${toolIndex}`) as string;
    return { id, tool, agentToken, agentPrompt: `${tool.prompt}\n\n${agentToken}` };
  });
}

export function callId({ mark, turn, part }: { mark: string; turn: number; part: string }): string {
  return `call_${mark}_${turn}_${part}`;
}

/** Turn and script mark of a call id made by {@link callId}. */
export function readCallId(id: string): { mark: string; turn: number; part: string } | undefined {
  const match = /^call_([0-9a-f]{10})_(\d+)_(\w+)$/.exec(id);
  if (match === null) return undefined;
  return { mark: match[1] as string, turn: Number(match[2]), part: match[3] as string };
}
