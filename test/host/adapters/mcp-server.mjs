// A real MCP server on stdio, with tools that note in a file that they ran.

import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const [log] = process.argv.slice(2);
const server = new McpServer({ name: "files", version: "1" });
const note = (line) => appendFileSync(log, `${line}\n`);

server.registerTool(
  "remove",
  {
    description: "Removes a file",
    inputSchema: { path: z.string().min(1) },
    annotations: { destructiveHint: true },
  },
  ({ path }) => {
    note(`remove ${path}`);
    return { content: [{ type: "text", text: `removed ${path}` }] };
  },
);
server.registerTool(
  "read",
  { inputSchema: { path: z.string() }, annotations: { readOnlyHint: true } },
  ({ path }) => {
    note(`read ${path}`);
    return { content: [{ type: "text", text: "contents" }], ...(path === "gone" ? { isError: true } : {}) };
  },
);
server.registerTool("add_tool", {}, () => {
  server.registerTool("added", { inputSchema: {} }, () => ({ content: [{ type: "text", text: "new" }] }));
  return { content: [{ type: "text", text: "ok" }] };
});

await server.connect(new StdioServerTransport());
