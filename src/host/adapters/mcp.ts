// Tools of an MCP server behind the host's gate, published as agent-bridle/host/mcp. The client is the caller's; nothing here connects.

import type { JsonObject } from "../../json.ts";
import type { HookHost } from "../create-host.ts";
import { ToolFailure } from "../tool-failure.ts";
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
 * @throws Error when `@modelcontextprotocol/sdk` is not installed, or a tool's schema cannot be checked: then none is registered
 */
export async function registerMcpTools(
  host: HookHost,
  client: McpClient,
  options: McpOptions,
): Promise<McpRegistration> {
  const { server } = options;
  if (typeof server !== "string" || !/^[A-Za-z0-9_-]+$/.test(server))
    throw new TypeError(`server must be letters, digits, _ and -, got ${JSON.stringify(server)}`);
  const createCheck = await loadValidator();
  let names: readonly string[] = [];
  const refresh = async () => {
    const tools = (await listAll(client)).map((tool) => describeTool(tool, client, options, createCheck));
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

type CreateCheck = (schema: McpTool["inputSchema"]) => StandardSchema;

function describeTool(
  { name, description, inputSchema, annotations }: McpTool,
  client: McpClient,
  { server, destructive = [] }: McpOptions,
  createCheck: CreateCheck,
): HostTool {
  return {
    name: `mcp__${server}__${name}`,
    kind: "mcp",
    ...(description === undefined ? {} : { description }),
    input: createCheck(inputSchema),
    inputSchema: inputSchema as JsonObject,
    // A server may say that a tool of its own is dangerous; that one is harmless it may not.
    destructive: destructive.includes(name) || annotations?.destructiveHint === true,
    async run(input: JsonObject, { signal }) {
      const result = await client.callTool({ name, arguments: input }, undefined, { signal });
      if (result.isError === true) throw new ToolFailure(textOf(result), result);
      return result;
    },
  };
}

/** The SDK's own validator, which knows the whole of JSON Schema. */
async function loadValidator(): Promise<CreateCheck> {
  let module: typeof import("@modelcontextprotocol/sdk/validation/ajv");
  try {
    module = await import("@modelcontextprotocol/sdk/validation/ajv");
  } catch (cause) {
    throw new Error("agent-bridle/host/mcp needs @modelcontextprotocol/sdk 1.x: npm install it", { cause });
  }
  const validators = new module.AjvJsonSchemaValidator();
  return (schema) => {
    const check = validators.getValidator(schema as Parameters<typeof validators.getValidator>[0]);
    return {
      "~standard": {
        version: 1,
        vendor: "agent-bridle",
        validate(value: unknown) {
          const checked = check(value);
          return checked.valid ? { value } : { issues: [{ message: checked.errorMessage }] };
        },
      },
    } as StandardSchema;
  };
}

function textOf({ content }: { [key: string]: unknown }): string {
  const parts = Array.isArray(content) ? content : [];
  const text = parts.flatMap((part: { text?: unknown }) =>
    typeof part?.text === "string" ? [part.text] : [],
  );
  return text.join("\n") || "the tool reports an error and says nothing of it";
}
