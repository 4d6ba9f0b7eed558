// A program with a model and a tool loop of its own, an MCP server, and two guards. It runs offline: the model is a list of answers.
// From a clone: npm run build, then  node examples/host-loop.ts   (Node 22.18 or later; on Node 20: npx tsx examples/host-loop.ts)

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { compileHostHooks, createHookHost, describeForModel } from "agent-bridle/host";
import { registerMcpTools } from "agent-bridle/host/mcp";
import { z } from "zod";

const server = new McpServer({ name: "files", version: "1.0.0" });
server.registerTool("read", { inputSchema: { path: z.string() } }, ({ path }) => ({
  content: [{ type: "text", text: `${path}: hello` }],
}));
server.registerTool("remove", { inputSchema: { path: z.string() } }, ({ path }) => ({
  content: [{ type: "text", text: `removed ${path}` }],
}));
const [ours, theirs] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: "host-loop", version: "1.0.0" });
await Promise.all([server.connect(theirs), client.connect(ours)]);

// One guard is declared and could as well guard a spawned agent; the other lives in this program.
const hooks = await compileHostHooks(
  {
    PreToolUse: [
      {
        matcher: "mcp__files__remove",
        hooks: [{ type: "command", command: ["/bin/sh", "-c", "echo files stay >&2; exit 2"] }],
      },
    ],
  },
  { cwd: process.cwd() },
);
let calls = 0;
const host = createHookHost({
  hooks,
  inProcess: [
    {
      event: "PreModelCall",
      id: "at most five model calls",
      handler: () => (++calls > 5 ? { decision: "block", reason: "five calls were enough" } : undefined),
    },
  ],
  receipts: ({ event, hook, decision }) => console.log(`  receipt: ${event}, ${hook}: ${decision}`),
});
await registerMcpTools(host, client, { server: "files" });

interface Step {
  readonly text?: string;
  readonly tool?: { readonly name: string; readonly input: object };
}
const script: Step[] = [
  { tool: { name: "mcp__files__read", input: { path: "a.txt" } } },
  { tool: { name: "mcp__files__remove", input: { path: "a.txt" } } },
  { text: "I read a.txt and left it where it is." },
];
const model = host.wrapModel((messages: string[]): Step => script[messages.length - 1] ?? {});

const origin = host.ingress({ prompt: "Read a.txt, then remove it." });
const messages = ["Read a.txt, then remove it."];
for (;;) {
  const answer = await model(messages, { origin });
  if (answer.status !== "ok")
    throw new Error(answer.status === "denied" ? answer.reason : String(answer.error));
  if (answer.response.tool === undefined) {
    console.log(answer.response.text);
    break;
  }
  const { name, input } = answer.response.tool;
  const message = describeForModel(await host.tools.invoke(name, input));
  console.log(`${name} → ${message}`);
  messages.push(message);
}
await host.runStop();
await host.close();
await client.close();
