import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/json.ts";
import { holds, WHERE_MAX_DEPTH, type Where, whereProblem } from "../../src/profile/where.ts";

const call: JsonObject = {
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command: "git push --force", env: { CI: "1" }, list: [1, { a: 2 }] },
  tool_paths: ["/a", "/b"],
  nothing: null,
  none: false,
};

test.each<[Where]>([
  [{ tool_name: "Bash" }],
  [{ tool_input: { command: "git push --force" } }],
  [{ tool_input: { env: { CI: "1" } }, tool_name: { $in: ["Edit", "Bash"] } }],
  [{ tool_input: { command: { $contains: "push" } } }],
  [{ tool_paths: { $contains: "/b" } }],
  [{ tool_paths: ["/a", "/b"] }],
  [{ tool_input: { list: { $contains: { a: 2 } } } }],
  [{ tool_input: { env: { $eq: { CI: "1" } } } }],
  [{ tool_name: { $exists: true, $contains: "as" } }],
  [{ agent_id: { $exists: false } }],
  [{ nothing: { $exists: true } }],
  [{ nothing: null, none: false }],
  [{ nothing: { $in: [1, null] } }],
])("%j holds", (where) => {
  expect(whereProblem(where)).toBeUndefined();
  expect(holds(where, call)).toBe(true);
});

test.each<[Where]>([
  [{ tool_name: "bash" }],
  [{ tool_name: "Bash", tool_input: { command: "ls" } }],
  [{ tool_input: { env: { $eq: {} } } }],
  [{ tool_input: { env: { $eq: { CI: "1", HOME: "/" } } } }],
  [{ tool_paths: ["/a"] }],
  [{ tool_paths: ["/b", "/a"] }],
  [{ tool_paths: { 0: "/a" } }],
  [{ tool_paths: { length: 2 } }],
  [{ tool_name: { length: 4 } }],
  [{ tool_input: { $contains: "command" } }],
  [{ tool_paths: { $contains: "a" } }],
  [{ tool_name: { $contains: 1 } }],
  [{ tool_name: { $exists: true, $eq: "Edit" } }],
  [{ tool_name: { $exists: false } }],
  [{ agent_id: { $exists: true } }],
  [{ agent_id: null }],
  [{ agent_id: { $eq: null } }],
  [{ agent_id: { $in: [null] } }],
  [{ agent_id: { type: { $exists: false } } }],
  [{ agent_id: { $exists: false, $eq: null } }],
  [{ none: 0 }],
  [{ nothing: { $exists: false } }],
])("%j does not hold", (where) => {
  expect(whereProblem(where)).toBeUndefined();
  expect(holds(where, call)).toBe(false);
});

describe("nothing that an object inherits is a field", () => {
  test.each(["constructor", "toString", "hasOwnProperty", "__proto__"])("%s", (field) => {
    const where = JSON.parse(`{ "${field}": { "$exists": true } }`) as Where;
    expect(whereProblem(where)).toBeUndefined();
    expect(holds(where, call)).toBe(false);
    expect(holds(where, JSON.parse(`{ "${field}": 1 }`) as JsonObject)).toBe(true);
  });

  test("a field that only the pattern's prototype has is told, not overlooked", () => {
    const where = { tool_name: "Bash", __proto__: { tool_input: { command: "ls" } } };
    expect(whereProblem(where)).toContain("expected an object");
    expect(whereProblem({ tool_input: Object.create({ command: "ls" }) })).toContain("tool_input: ");
  });

  test("an own __proto__ of the envelope is compared as a field", () => {
    const where = JSON.parse('{ "tool_input": { "$eq": { "__proto__": { "a": 1 } } } }') as Where;
    expect(holds(where, { tool_input: {} })).toBe(false);
    expect(holds(where, { tool_input: { b: 1 } })).toBe(false);
    expect(holds(where, JSON.parse('{ "tool_input": { "__proto__": { "a": 1 } } }') as JsonObject)).toBe(
      true,
    );
  });
});

const cycle: { [key: string]: unknown } = {};
cycle.self = cycle;
const nested = (depth: number): Where => {
  let inner: Json = "x";
  for (let level = 0; level < depth; level += 1) inner = { a: inner };
  return inner as unknown as Where;
};

test.each<[string, unknown, string]>([
  ["an empty one", {}, ": is empty"],
  ["no object", "Bash", ": expected an object"],
  ["a list", [], ": expected an object"],
  ["null", null, ": expected an object"],
  ["an operator without a field", { $exists: true }, "$exists: "],
  ["an empty part", { tool_input: {} }, "tool_input: is empty"],
  ["a field beside an operator", { a: { $eq: 1, b: 2 } }, "a.b: "],
  ["an unknown operator", { a: { b: { $gt: 1 } } }, "a.b.$gt: is no operator"],
  ["$regex, which other tools have", { a: { $regex: "x" } }, "a.$regex: "],
  ["$in without a list", { a: { $in: "x" } }, "a.$in: expected a list"],
  ["$in with an empty list", { a: { $in: [] } }, "a.$in: "],
  ["$exists without a boolean", { a: { $exists: 1 } }, "a.$exists: expected true or false"],
  ["an operator in a list", { a: [{ b: { $eq: 1 } }] }, "a[0].b.$eq: "],
  ["undefined", { a: undefined }, "a: undefined"],
  ["a function", { a: { b: () => 1 } }, "a.b: function"],
  ["NaN", { a: { $eq: Number.NaN } }, "a.$eq: NaN"],
  ["a date", { a: new Date(0) }, "a: an object that is not a plain one"],
  ["a Map in a list", { a: [1, new Map()] }, "a[1]: "],
  ["a hole in a list", { a: new Array(2) }, "a[0]: undefined"],
  ["a BigInt", { a: 1n }, "a: bigint"],
  ["a symbol's field", { a: { [Symbol("s")]: 1, b: 1 } }, "a: "],
  ["a cycle", { a: cycle }, "is nested deeper"],
  ["a cycle in $eq", { a: { $eq: cycle } }, "is nested deeper"],
  ["depth 33", nested(WHERE_MAX_DEPTH + 1), "is nested deeper"],
])("%s is a problem, named with its path, and never holds or fails to in silence", (_name, where, said) => {
  expect(whereProblem(where)).toContain(said);
  expect(() => holds(where as Where, call)).toThrow(said);
});

test("depth 32 is fine", () => {
  expect(whereProblem(nested(WHERE_MAX_DEPTH))).toBeUndefined();
});

test("a problem is told even where the envelope would not have reached it", () => {
  expect(() => holds({ tool_name: "Edit", tool_input: { $oops: 1 } }, call)).toThrow("tool_input.$oops");
});

// The reference: the same rules over the text of JSON, written without a thought for speed or for what is inherited.
const text = (value: Json | undefined): string =>
  JSON.stringify(value, (_key, inner: Json) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? { fields: Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)) }
      : inner,
  ) ?? "missing";
function naive(wanted: Json, value: Json | undefined): boolean {
  if (wanted === null || typeof wanted !== "object" || Array.isArray(wanted))
    return text(wanted) === text(value);
  const entries = Object.entries(wanted);
  if (entries.some(([key]) => key.startsWith("$")))
    return entries.every(([operator, operand]) => {
      if (operator === "$exists") return operand === (value !== undefined);
      if (value === undefined) return false;
      if (operator === "$eq") return text(operand) === text(value);
      if (operator === "$in") return (operand as Json[]).map(text).includes(text(value));
      if (Array.isArray(value)) return value.map(text).includes(text(operand));
      return (
        typeof value === "string" &&
        typeof operand === "string" &&
        (operand === "" || value.replace(operand, "") !== value)
      );
    });
  if (value === undefined || value === null || typeof value !== "object" || Array.isArray(value))
    return false;
  const fields = new Map(Object.entries(value));
  return entries.every(([key, inner]) => naive(inner, fields.get(key)));
}

const key = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
const leaf = fc.constantFrom<Json>(null, true, false, 0, 1, "", "a", "ab", "b");
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(key, tie("json"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const operators = fc
  .record(
    {
      $eq: json,
      $in: fc.array(json, { minLength: 1, maxLength: 3 }),
      $exists: fc.boolean(),
      $contains: json,
    },
    { requiredKeys: [] },
  )
  .filter((test) => Object.keys(test).length > 0) as fc.Arbitrary<Json>;
const { part } = fc.letrec<{ part: Json; field: Json }>((tie) => ({
  field: fc.oneof({ maxDepth: 3 }, leaf, operators, fc.array(json, { maxLength: 2 }), tie("part")),
  part: fc.dictionary(key, tie("field"), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
}));

/** Of the envelope's own fields, and so sometimes true. */
const partOf = (value: JsonObject): fc.Arbitrary<Json> =>
  fc
    .subarray(Object.entries(value), { minLength: 1 })
    .chain((fields) =>
      fc.tuple(
        ...fields.map(([name, own]) =>
          fc
            .oneof(
              fc.constant(own),
              fc.constant({ $eq: own }),
              json.map((other) => ({ $in: [other, own] })),
              json.map((other) => ({ $contains: Array.isArray(own) ? (own[0] ?? other) : other })),
              operators,
            )
            .map((wanted): [string, Json] => [name, wanted as Json]),
        ),
      ),
    )
    .map((fields) => Object.fromEntries(fields));

test("holds decides as the reference does, on any pattern and any envelope", () => {
  const envelope = fc.dictionary(key, json, {
    minKeys: 1,
    maxKeys: 4,
    noNullPrototype: true,
  }) as fc.Arbitrary<JsonObject>;
  const pair = envelope.chain((value) =>
    fc
      .tuple(fc.oneof(part, partOf(value)), fc.constant(value))
      .filter(([where]) => whereProblem(where) === undefined),
  );
  const counts = { true: 0, false: 0 };
  fc.assert(
    fc.property(pair, ([where, value]) => {
      const wanted = naive(where, value);
      counts[`${wanted}`] += 1;
      expect(holds(where as Where, value)).toBe(wanted);
    }),
    { numRuns: 3000 },
  );
  expect(Math.min(counts.true, counts.false)).toBeGreaterThan(300);
});

test("an envelope holds itself, and every part of it", () => {
  const plain = fc.dictionary(key, leaf, { minKeys: 1, maxKeys: 4, noNullPrototype: true });
  fc.assert(
    fc.property(plain, fc.nat(), (value, index) => {
      const fields = Object.entries(value);
      const one = fields[index % fields.length] as [string, Json];
      expect(holds(value as Where, value as JsonObject)).toBe(true);
      expect(holds(Object.fromEntries([one]), value as JsonObject)).toBe(true);
    }),
  );
});

test("any value whatever is a problem or can be used, and nothing throws", () => {
  fc.assert(
    fc.property(fc.anything({ maxDepth: 4, withBigInt: true, withDate: true, withMap: true }), (value) => {
      const problem = whereProblem(value);
      if (problem === undefined) expect(() => holds(value as Where, call)).not.toThrow();
      else expect(problem).toContain(":");
    }),
  );
});
