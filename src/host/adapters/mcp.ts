// Tools of an MCP server behind the host's gate, published as agent-bridle/host/mcp. The client is the caller's; nothing here connects.

import type { JsonObject } from "../../json.ts";
import { messageOf } from "../../message-of.ts";
import type { HookHost } from "../host-types.ts";
import { createSchemaCheck } from "../json-schema-check.ts";
import { ToolFailure } from "../tool-failure.ts";
import type { InputCheck } from "../tool-input.ts";
import type { HostTool, StandardSchema } from "../tool-types.ts";

/** The part of `Client` of `@modelcontextprotocol/sdk` that is used. */
export interface McpClient {
  listTools(params?: {
    cursor?: string;
  }): Promise<{ tools: readonly McpTool[]; nextCursor?: string | undefined }>;
  callTool(
    params: { name: string; arguments?: { [name: string]: unknown } },
    resultSchema?: undefined,
    options?: { signal?: AbortSignal },
  ): Promise<{ [key: string]: unknown }>;
}

export interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: { readonly [key: string]: unknown };
  readonly annotations?: { readonly destructiveHint?: boolean | undefined } | undefined;
}

export interface McpOptions {
  /** Name of the server: its tools are `mcp__server__tool`. */
  readonly server: string;
  /** Tools, by the server's own names, that are destructive; beside those that say so of themselves. @default none */
  readonly destructive?: readonly string[];
}

export interface McpRegistration {
  /** As registered. */
  readonly names: readonly string[];
  /** Asks the server again (`tools/list_changed`): registers what is new or changed, and removes what is gone. */
  refresh(): Promise<void>;
}

/**
 * Registers every tool of a connected client. Its calls go through `host.tools.invoke` like any other's; `client.callTool` itself asks no
 * hook.
 *
 * @throws Error when a tool's schema cannot be checked (or `ajv` is not installed), a name is taken, or `destructive` names a tool that there
 * is not: then none is registered
 */
export async function registerMcpTools(
  host: HookHost,
  client: McpClient,
  options: McpOptions,
): Promise<McpRegistration> {
  const { server } = options;
  if (typeof server !== "string" || !/^[A-Za-z0-9_-]+$/.test(server))
    throw new TypeError(`server must be letters, digits, _ and -, got ${JSON.stringify(server)}`);
  let names: readonly string[] = [];
  // Once dangerous, always: a list that changes does not make a tool harmless.
  const dangerous = new Set<string>(options.destructive);
  const refresh = async () => {
    const listed = await listAll(client);
    if (names.length === 0) checkDestructive(options.destructive ?? [], listed, server);
    for (const { name, annotations } of listed)
      if (annotations?.destructiveHint === true) dangerous.add(name);
    const tools = listed.map((tool) => describeTool(tool, client, server, dangerous));
    host.tools.registerAll(tools, { replacing: names });
    names = tools.map(({ name }) => name);
  };
  await refresh();
  return {
    get names() {
      return names;
    },
    refresh,
  };
}

function checkDestructive(destructive: readonly string[], listed: readonly McpTool[], server: string): void {
  const known = listed.map(({ name }) => name);
  const unknown = destructive.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new TypeError(
    `destructive: ${server} has no tool ${unknown.map((name) => JSON.stringify(name)).join(", ")}; known: ${known.join(", ")}`,
  );
}

/** More pages than this are a server that never ends. */
const PAGE_LIMIT = 1_000;

async function listAll(client: McpClient): Promise<McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGE_LIMIT; page += 1) {
    const listed = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...listed.tools);
    cursor = listed.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`the server lists more than ${PAGE_LIMIT} pages of tools`);
}

function describeTool(
  { name, description, inputSchema }: McpTool,
  client: McpClient,
  server: string,
  dangerous: ReadonlySet<string>,
): HostTool {
  return {
    name: `mcp__${server}__${name}`,
    kind: "mcp",
    ...(description === undefined ? {} : { description }),
    input: schemaOf(name, inputSchema),
    inputSchema: inputSchema as JsonObject,
    // A server may say that a tool of its own is dangerous; that one is harmless it may not.
    destructive: dangerous.has(name),
    async run(input: JsonObject, { signal }) {
      const result = await client.callTool({ name, arguments: input }, undefined, { signal });
      if (result.isError === true) throw new ToolFailure(textOf(result), result);
      return result;
    },
  };
}

/** Words that JSON Schema does not know are annotations of the server's; every rule is checked. */
function schemaOf(tool: string, inputSchema: McpTool["inputSchema"]): StandardSchema {
  let check: InputCheck;
  try {
    check = createSchemaCheck(inputSchema as JsonObject, { unknownKeywords: "ignore" });
  } catch (cause) {
    throw new Error(`tool ${tool}: its schema cannot be checked whole: ${messageOf(cause)}`, { cause });
  }
  const standard = {
    version: 1,
    vendor: "agent-bridle",
    validate: (value: unknown) => check(value as JsonObject),
  };
  return { "~standard": standard } as StandardSchema;
}

function textOf({ content }: { [key: string]: unknown }): string {
  const parts = Array.isArray(content) ? content : [];
  const text = parts.flatMap((part: { text?: unknown }) =>
    typeof part?.text === "string" ? [part.text] : [],
  );
  return text.join("\n") || "the tool reports an error and says nothing of it";
}
