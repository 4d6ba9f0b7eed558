// JSON Schemas of tools: every rule is checked, or the tool is not registered.

import { expect, test, vi } from "vitest";
import { registerMcpTools } from "../../src/host/adapters/mcp.ts";
import type { JsonObject } from "../../src/json.ts";
import { play } from "./support.ts";

const CHECKED: readonly [string, JsonObject, JsonObject, JsonObject][] = [
  [
    "required of a name that properties does not have",
    { type: "object", properties: { p: { type: "string" } }, required: ["q"] },
    {},
    { q: 1 },
  ],
  [
    "rules without a type",
    { properties: { path: { type: "string", enum: ["a"] } }, required: ["path"] },
    { path: 5 },
    { path: "a" },
  ],
  [
    "additionalProperties without a type",
    { properties: { path: true }, additionalProperties: false },
    { evil: 5 },
    { path: 5 },
  ],
  [
    "a pattern without a type",
    { properties: { path: { pattern: "^/tmp/" } } },
    { path: "/etc" },
    { path: "/tmp/x" },
  ],
  ["allOf", { allOf: [{ required: ["q"] }] }, {}, { q: 1 }],
  ["anyOf", { anyOf: [{ required: ["q"] }, { required: ["r"] }] }, {}, { r: 1 }],
  ["not", { not: { required: ["q"] } }, { q: 1 }, {}],
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
  ["if and then", { if: { required: ["a"] }, then: { required: ["b"] } }, { a: 1 }, { a: 1, b: 1 }],
  ["dependentRequired", { dependentRequired: { a: ["b"] } }, { a: 1 }, { a: 1, b: 1 }],
  [
    "dependencies of draft 7",
    { $schema: "http://json-schema.org/draft-07/schema#", dependencies: { a: ["b"] } },
    { a: 1 },
    { a: 1, b: 1 },
  ],
  [
    "a $ref with siblings",
    { properties: { p: { $ref: "#/$defs/s", maxLength: 2 } }, $defs: { s: { type: "string" } } },
    { p: "abc" },
    { p: "ab" },
  ],
  ["enum beside const", { properties: { p: { enum: ["a", "b"], const: "a" } } }, { p: "b" }, { p: "a" }],
  ["a const that is an object", { properties: { p: { const: { a: 1 } } } }, { p: { a: 2 } }, { p: { a: 1 } }],
  ["unevaluatedProperties", { properties: { p: true }, unevaluatedProperties: false }, { q: 1 }, { p: 1 }],
  [
    "prefixItems",
    { properties: { p: { type: "array", prefixItems: [{ type: "string" }] } } },
    { p: [1] },
    { p: ["a"] },
  ],
  ["a format", { properties: { p: { type: "string", format: "uri" } } }, { p: "no" }, { p: "http://a" }],
];

test.each(CHECKED)("%s is checked", async (_name, input, bad, good) => {
  const { host } = play();
  const run = vi.fn();
  host.tools.register({ name: "T", input, run });
  expect(await host.tools.invoke("T", bad)).toMatchObject({ status: "denied", stage: "input" });
  expect(run).not.toHaveBeenCalled();
  expect(await host.tools.invoke("T", good)).toMatchObject({ status: "ok", input: good });
});

test.each<[string, JsonObject]>([
  ["a misspelt rule", { type: "object", reqired: ["a"] }],
  ["a rule of the wrong type", { type: "object", required: "q" }],
  ["a length that is text", { properties: { p: { maxLength: "0" } } }],
  ["a format that nobody knows", { properties: { p: { format: "path-of-ours" } } }],
  ["a pattern that cannot be checked in linear time", { properties: { p: { pattern: "(?=a)b" } } }],
  ["an unknown dialect", { $schema: "https://example.com/own" }],
  ["a reference that leads nowhere", { $ref: "#/$defs/none" }],
])("%s is refused when the tool is registered", (_name, input) => {
  const { host } = play();
  expect(() => host.tools.register({ name: "T", input, run: () => 1 })).toThrow(
    /tool T: its JSON Schema cannot be checked whole/,
  );
  expect(host.tools.list()).toEqual([]);
});

test("a hostile pattern of a server does not hold the process up", async () => {
  const { host } = play();
  host.tools.register({ name: "T", input: { properties: { p: { pattern: "^(a+)+$" } } }, run: () => 1 });
  // With a backtracking engine this would take longer than the test may.
  expect(await host.tools.invoke("T", { p: `${"a".repeat(5_000)}!` })).toMatchObject({ status: "denied" });
});

test("tools of one server that name the same $id are each held to their own schema", async () => {
  const { host } = play();
  const loose = { name: "loose", inputSchema: { $id: "same", type: "object" } };
  const strict = {
    name: "strict",
    inputSchema: { $id: "same", type: "object", additionalProperties: false },
  };
  let tools = [loose, strict];
  const client = { listTools: async () => ({ tools }), callTool: async () => ({ content: [] }) };
  const registration = await registerMcpTools(host, client, { server: "s" });
  expect(await host.tools.invoke("mcp__s__loose", { evil: 1 })).toMatchObject({ status: "ok" });
  expect(await host.tools.invoke("mcp__s__strict", { evil: 1 })).toMatchObject({
    status: "denied",
    stage: "input",
  });
  tools = [{ ...strict, name: "loose" }];
  await registration.refresh();
  expect(await host.tools.invoke("mcp__s__loose", { evil: 1 })).toMatchObject({
    status: "denied",
    stage: "input",
  });
});

test("words of a server that JSON Schema does not know are annotations", async () => {
  const { host } = play();
  const inputSchema = {
    type: "object",
    "x-order": ["a"],
    properties: { a: { type: "string", format: "own" } },
  };
  const client = {
    listTools: async () => ({ tools: [{ name: "t", inputSchema }] }),
    callTool: async () => ({ content: [] }),
  };
  await registerMcpTools(host, client, { server: "s" });
  expect(await host.tools.invoke("mcp__s__t", { a: "x" })).toMatchObject({ status: "ok" });
  expect(await host.tools.invoke("mcp__s__t", { a: 1 })).toMatchObject({ status: "denied" });
});

test("a tool that was dangerous stays so, and a name that no tool has is refused", async () => {
  const { host } = play();
  let hint: boolean | undefined = true;
  const client = {
    listTools: async () => ({
      tools: [{ name: "rm", inputSchema: { type: "object" }, annotations: { destructiveHint: hint } }],
    }),
    callTool: async () => ({ content: [] }),
  };
  await expect(registerMcpTools(host, client, { server: "s", destructive: ["mcp__s__rm"] })).rejects.toThrow(
    'has no tool "mcp__s__rm"; known: rm',
  );
  const registration = await registerMcpTools(host, client, { server: "s" });
  hint = false;
  await registration.refresh();
  expect(await host.tools.invoke("mcp__s__rm", {})).toMatchObject({ status: "denied", stage: "permission" });
});
