// A stdio MCP server with one tool, `touch`, that leaves the file it is told. No dependencies.

import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const tool = {
  name: "touch",
  description: "Leaves a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
};

function answer({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "touch", version: "1" },
      };
    case "tools/list":
      return { tools: [tool] };
    case "tools/call":
      writeFileSync(params.arguments.path, "touched\n");
      return { content: [{ type: "text", text: "touched" }] };
    default:
      return {};
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.id === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: request.id, result: answer(request) })}\n`);
}
