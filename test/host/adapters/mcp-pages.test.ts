// What is asked of an MCP client and what is made of its answers, page by page and refresh by refresh. The client is a plain object: no SDK
// server pages its tools.

import { expect, test } from "vitest";
import { type McpClient, type McpTool, registerMcpTools } from "../../../src/host/adapters/mcp.ts";
import { describeForModel } from "../../../src/host/index.ts";
import { play } from "../support.ts";

const tool = (name: string, more: Partial<McpTool> = {}): McpTool => ({
  name,
  inputSchema: { type: "object" },
  ...more,
});

const clientOf = (tools: () => readonly McpTool[], answer: object = { content: [] }): McpClient => ({
  listTools: async () => ({ tools: tools() }),
  callTool: async () => ({ ...answer }),
});

test("every page is asked for by the cursor of the one before", async () => {
  const asked: unknown[] = [];
  const pages = [
    { tools: [tool("a")], nextCursor: "2" },
    { tools: [tool("b")], nextCursor: "3" },
    { tools: [tool("c")] },
  ];
  const client: McpClient = {
    ...clientOf(() => []),
    listTools: async (params) => {
      asked.push(params);
      return pages[asked.length - 1] ?? { tools: [] };
    },
  };
  const { host } = play();
  const { names } = await registerMcpTools(host, client, { server: "x" });
  expect(asked).toEqual([{}, { cursor: "2" }, { cursor: "3" }]);
  expect(names).toEqual(["mcp__x__a", "mcp__x__b", "mcp__x__c"]);
});

test("a thousand pages are read, and one more is a server that never ends", async () => {
  let asked = 0;
  const paging = (last: number): McpClient => ({
    ...clientOf(() => []),
    listTools: async () => {
      asked += 1;
      return { tools: [], nextCursor: asked === last ? undefined : "more" };
    },
  });
  await registerMcpTools(play().host, paging(1_000), { server: "x" });
  expect(asked).toBe(1_000);
  asked = 0;
  await expect(registerMcpTools(play().host, paging(1_001), { server: "x" })).rejects.toThrow("1000 pages");
});

test("refresh replaces what changed, removes what is gone, and leaves the tools of others", async () => {
  let tools = [tool("a", { description: "old" }), tool("b")];
  const { host } = play();
  host.tools.register({ name: "mine", run: () => 1 });
  const registration = await registerMcpTools(
    host,
    clientOf(() => tools),
    { server: "x" },
  );
  tools = [tool("a", { description: "new" }), tool("c")];
  await registration.refresh();
  await registration.refresh();
  expect(registration.names).toEqual(["mcp__x__a", "mcp__x__c"]);
  expect(host.tools.list().map(({ name, description }) => [name, description])).toEqual([
    ["mine", undefined],
    ["mcp__x__a", "new"],
    ["mcp__x__c", undefined],
  ]);
});

test("a model is shown the server's own schema", async () => {
  const inputSchema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  const { host } = play();
  await registerMcpTools(
    host,
    clientOf(() => [tool("a", { inputSchema })]),
    { server: "x" },
  );
  expect(host.tools.list()).toMatchObject([{ inputSchema, destructive: false }]);
});

test("a server is told when its call is abandoned", async () => {
  const controller = new AbortController();
  let given: AbortSignal | undefined;
  const client: McpClient = {
    ...clientOf(() => [tool("a")]),
    callTool: async (_params, _schema, options) => {
      given = options?.signal;
      controller.abort();
      return { content: [] };
    },
  };
  const { host } = play();
  await registerMcpTools(host, client, { server: "x" });
  await host.tools.invoke("mcp__x__a", {}, { signal: controller.signal });
  expect(given?.aborted).toBe(true);
});

test.each<[string, object, string]>([
  [
    "with texts",
    {
      isError: true,
      content: [
        { type: "text", text: "one" },
        { type: "image", data: "" },
        { type: "text", text: "two" },
      ],
    },
    "mcp__x__a failed: one\ntwo",
  ],
  [
    "with nothing",
    { isError: true, content: [] },
    "mcp__x__a failed: the tool reports an error and says nothing of it",
  ],
  [
    "with no content at all",
    { isError: true },
    "mcp__x__a failed: the tool reports an error and says nothing of it",
  ],
])("a result that is an error %s is a failure that has words", async (_name, answer, text) => {
  const { host } = play();
  await registerMcpTools(
    host,
    clientOf(() => [tool("a")], answer),
    { server: "x" },
  );
  expect(describeForModel(await host.tools.invoke("mcp__x__a", {}))).toBe(text);
});
