// Inputs and results as copies: what JSON cannot hold is named, and a schema is read as its own standard says.

import { expect, test } from "vitest";
import { z } from "zod";
import { describeForModel, type HostTool, type StandardSchema } from "../../src/host/index.ts";
import { copyJson } from "../../src/host/tool-input.ts";
import { responseOf } from "../../src/host/tool-response.ts";
import type { JsonObject } from "../../src/json.ts";
import { play } from "./support.ts";

function nested(depth: number): JsonObject {
  const top: JsonObject = {};
  let at = top;
  for (let level = 0; level < depth; level += 1) {
    const next: JsonObject = {};
    at.a = next;
    at = next;
  }
  return top;
}

test("nesting is copied 256 deep, and refused from there on", () => {
  expect(copyJson(nested(256))).toEqual(nested(256));
  expect(() => copyJson(nested(257))).toThrow("is nested more than 256 deep");
});

test("an object without a prototype is plain, and one of a class is not", () => {
  const bare: object = Object.assign(Object.create(null), { a: 1 });
  expect(copyJson(bare)).toEqual({ a: 1 });
  expect(() => copyJson({ at: new URL("http://127.0.0.1") })).toThrow("input.at is not a plain object");
});

test("what JSON leaves out of an object is left out, and refused in a list, a hole too", () => {
  expect(Object.keys(copyJson({ a: undefined, b: null }) as object)).toEqual(["b"]);
  expect(() => copyJson({ list: [1, undefined] })).toThrow("input.list[1] is a undefined");
  expect(() => copyJson({ list: new Array(2) })).toThrow("input.list[0] is a undefined");
});

test("a list is copied by its places, whatever functions it brings along", () => {
  const list = Object.assign([1, 2], {
    map: () => ["something else"],
    *[Symbol.iterator]() {
      yield "something else";
    },
  });
  expect(copyJson({ list })).toEqual({ list: [1, 2] });
});

const issueOf = async (input: HostTool["input"], given: unknown = {}) => {
  const { host } = play();
  host.tools.register({ name: "T", run: () => 1, ...(input === undefined ? {} : { input }) });
  return host.tools.invoke("T", given);
};

const standard = (validate: (value: unknown) => unknown): StandardSchema =>
  ({ "~standard": { version: 1, vendor: "test", validate } }) as StandardSchema;

test("an issue's path may be of keys or of objects with keys, and one of the whole input says so", async () => {
  const schema = standard(() => ({
    issues: [{ message: "bad", path: ["a", { key: 0 }] }, { message: "worse" }],
  }));
  expect(await issueOf(schema)).toMatchObject({
    status: "denied",
    reason: "a.0: bad; input: worse",
    validation: [
      { path: ["a", 0], message: "bad" },
      { path: [], message: "worse" },
    ],
  });
});

test("a schema may be a function, and may answer later", async () => {
  const validate = async () => ({ issues: [{ message: "late", path: ["a"] }] });
  const schema = Object.assign(() => undefined, standard(validate));
  expect(await issueOf(schema)).toMatchObject({ status: "denied", reason: "a: late" });
});

test("list: a schema of its own goes before what is told from the check; one without a JSON form is left out", () => {
  const { host } = play();
  const shown = { type: "object", title: "shown" };
  host.tools.register({ name: "own", input: z.object({}), inputSchema: shown, run: () => 1 });
  host.tools.register({ name: "none", input: standard((value) => ({ value })), run: () => 1 });
  host.tools.register({
    name: "json",
    input: { type: "object", title: "t" },
    destructive: true,
    run: () => 1,
  });
  expect(host.tools.list()).toEqual([
    { name: "own", destructive: false, inputSchema: shown },
    { name: "none", destructive: false },
    { name: "json", destructive: true, inputSchema: { type: "object", title: "t" } },
  ]);
});

test("list: a zod schema is shown as what a model may send, not as what the tool gets", () => {
  const { host } = play();
  const input = z.object({ n: z.number().default(7), at: z.string().transform((text) => new Date(text)) });
  host.tools.register({ name: "T", input, run: () => 1 });
  const [{ inputSchema } = { inputSchema: undefined }] = host.tools.list();
  expect(inputSchema).toMatchObject({
    properties: { n: { type: "number", default: 7 }, at: { type: "string" } },
    required: ["at"],
  });
  const odd = play().host;
  odd.tools.register({ name: "T", input: z.object({ at: z.date() }), run: () => 1 });
  expect(odd.tools.list()).toMatchObject([{ inputSchema: { properties: { at: {} } } }]);
});

test("a result as text is a million letters at most, an error its words, and what has no text its kind", () => {
  const long = { toString: () => "a".repeat(1_000_001), toJSON: () => undefined };
  expect(responseOf(long)).toHaveLength(1_000_000);
  expect(responseOf(Object.assign(new Error("no"), { code: 7 }))).toBe("Error: no");
  const mute = Object.create(null, { self: { get: () => mute, enumerable: true } });
  expect(responseOf(mute)).toBe("[object Object]");
});

test("an odd answer of an inner function is quoted, and cut", async () => {
  const { host } = play({ inner: { pre: [() => ({ what: "x".repeat(500) }) as never] } });
  host.tools.register({ name: "T", run: () => 1 });
  const outcome = await host.tools.invoke("T", {});
  expect(describeForModel(outcome)).toMatch(/^T was denied: a check answered neither .*\{"what":"x{50,120}$/);
});
