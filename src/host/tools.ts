// The tools of a host, by name.

import type { JsonObject } from "../json.ts";
import type { RegisteredTool } from "./passage.ts";
import { createToolGate, type ToolGateOptions } from "./tool-gate.ts";
import { createInputCheck, jsonSchemaOf } from "./tool-input.ts";
import type { HostTool, StandardSchema, ToolCallContext, ToolOutcome } from "./tool-types.ts";

export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  /** For the model; absent when the tool's schema has no JSON form. */
  readonly inputSchema?: JsonObject;
  readonly destructive: boolean;
}

export interface HostTools {
  /** @throws TypeError when the name is taken, or the tool is not what a tool is. */
  register<Schema extends StandardSchema | JsonObject | undefined = undefined>(tool: HostTool<Schema>): void;
  /** Several at once, in the place of those named: all of it or nothing. */
  registerAll(tools: readonly HostTool[], options?: { readonly replacing?: readonly string[] }): void;
  /** @returns whether there was one */
  unregister(name: string): boolean;
  list(): ListedTool[];
  /**
   * The one way a tool runs. `input` is copied first.
   * @throws HookExecutionError when a hook with `onFailure: "error"` failed; everything else is in the outcome.
   */
  invoke<Result = unknown>(
    name: string,
    input: unknown,
    context?: ToolCallContext,
  ): Promise<ToolOutcome<Result>>;
}

export function createHostTools(options: ToolGateOptions): HostTools {
  const tools = new Map<string, RegisteredTool>();
  const destructive = new Set(options.permission.destructive);
  const invoke = createToolGate(options, tools);

  function registerAll(several: readonly HostTool[], replacing: readonly string[] = []): void {
    const prepared = several.map(prepare);
    const names = new Set(tools.keys());
    for (const name of replacing) names.delete(name);
    for (const { tool } of prepared) {
      if (names.has(tool.name)) throw new TypeError(`tool ${tool.name} is registered already`);
      names.add(tool.name);
    }
    for (const name of replacing) tools.delete(name);
    for (const one of prepared) tools.set(one.tool.name, one);
  }

  return {
    register: (tool) => registerAll([tool]),
    registerAll: (several, { replacing = [] } = {}) => registerAll(several, replacing),
    unregister: (name) => tools.delete(name),
    list: () =>
      [...tools.values()].map(({ tool }) => {
        const inputSchema = jsonSchemaOf(tool);
        return {
          name: tool.name,
          ...(tool.description === undefined ? {} : { description: tool.description }),
          ...(inputSchema === undefined ? {} : { inputSchema }),
          destructive: tool.destructive === true || destructive.has(tool.name),
        };
      }),
    invoke: <Result>(name: string, input: unknown, context: ToolCallContext = {}) =>
      invoke(name, input, context) as Promise<ToolOutcome<Result>>,
  };
}

/** As it is now: what a caller does to its object later changes nothing that is asked or run. */
function prepare(given: HostTool): RegisteredTool {
  checkTool(given);
  const { run, pre, post } = given;
  const tool = {
    ...given,
    run: run.bind(given) as HostTool["run"],
    ...(pre === undefined ? {} : { pre: [...pre] }),
    ...(post === undefined ? {} : { post: [...post] }),
  };
  return { tool, check: createInputCheck(tool) };
}

function checkTool(tool: HostTool): void {
  const { name, run, kind } = tool ?? {};
  if (typeof name !== "string" || !/^\S+$/.test(name))
    throw new TypeError(`a tool's name must be one word, got ${JSON.stringify(name) ?? typeof name}`);
  if (typeof run !== "function")
    throw new TypeError(`tool ${name}: run must be a function, got ${typeof run}`);
  if (kind !== undefined && !["shell", "read", "edit", "web", "mcp", "agent", "other"].includes(kind))
    throw new TypeError(`tool ${name}: unknown kind ${JSON.stringify(kind)}`);
  for (const key of Object.keys(tool))
    if (!TOOL_KEYS.includes(key))
      throw new TypeError(`tool ${name}: unknown key ${JSON.stringify(key)}; known: ${TOOL_KEYS.join(", ")}`);
  for (const list of ["pre", "post"] as const)
    if (tool[list] !== undefined && !isFunctions(tool[list]))
      throw new TypeError(`tool ${name}: ${list} must be a list of functions`);
  for (const one of ["securityPre", "command", "paths"] as const)
    if (tool[one] !== undefined && typeof tool[one] !== "function")
      throw new TypeError(`tool ${name}: ${one} must be a function, got ${typeof tool[one]}`);
  // Anything but true would be read as harmless.
  if (tool.destructive !== undefined && typeof tool.destructive !== "boolean")
    throw new TypeError(
      `tool ${name}: destructive must be true or false, got ${JSON.stringify(tool.destructive) ?? typeof tool.destructive}`,
    );
}

/** A key that nobody reads would be a check that is silently absent. */
const TOOL_KEYS: readonly string[] = [
  "name",
  "description",
  "input",
  "inputSchema",
  "run",
  "kind",
  "command",
  "paths",
  "destructive",
  "pre",
  "post",
  "securityPre",
] satisfies (keyof HostTool)[];

function isFunctions(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "function");
}
