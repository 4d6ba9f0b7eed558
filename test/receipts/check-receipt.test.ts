// What both stores of a host's receipts refuse to write, so that no later read fails because of it.

import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ReceiptStore } from "../../src/host/receipt.ts";
import { createJsonlStore, readJsonlStore, readReceipts } from "../../src/index.ts";
import { LINE_MAX_BYTES } from "../../src/receipts/json-lines.ts";
import { openReceiptStore } from "../../src/store/index.ts";
import { collect, fullReceipt, hook, issueOf, makeFolder, receipt } from "../store/support.ts";

let folder: Awaited<ReturnType<typeof makeFolder>>;
beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => folder.remove());

const STORES = ["jsonl", "sqlite"] as const;
type Of = (typeof STORES)[number];
type Store = Required<ReceiptStore> & { readonly path: string };

async function openStore(of: Of): Promise<Store> {
  const path = join(folder.path, of);
  return of === "jsonl" ? createJsonlStore({ path }) : openReceiptStore({ path });
}

async function readBack(of: Of) {
  const path = join(folder.path, of);
  if (of === "jsonl") {
    const lines = readJsonlStore(path);
    const found = await collect(lines);
    return { found: found.map(({ kind: _kind, ...line }) => line), unreadable: lines.unreadable };
  }
  const store = await openReceiptStore({ path, readOnly: true });
  const [hooks, receipts] = [store.hooks(), store.query()];
  const found = [...hooks, ...receipts];
  store.close();
  return { found, unreadable: hooks.unreadable + receipts.unreadable };
}

const fail = () => {
  throw new TypeError("raw");
};
const holed: string[] = [];
holed[1] = "a";

const wrong: [string, object, string, string | RegExp][] = [
  ...(Object.keys(receipt()) as (keyof ReturnType<typeof receipt>)[]).map(
    (field): [string, object, string, string] => [
      `without ${field}`,
      { ...receipt(), [field]: undefined },
      field,
      "it is missing",
    ],
  ),
  ["seq as text", { ...receipt(), seq: "0" }, "seq", 'got "0" (string)'],
  ["seq as bigint", { ...receipt(), seq: 1n }, "seq", "(bigint)"],
  ["a time that is no number", { ...receipt(), duration_ms: Number.NaN }, "duration_ms", "NaN"],
  ["a time without an end", { ...receipt(), duration_ms: 1 / 0 }, "duration_ms", "Infinity"],
  ["a Date", { ...receipt(), started_at: new Date(0) }, "started_at", "(object)"],
  ["scope null", { ...receipt(), scope: null }, "scope", "null"],
  ["background 1", { ...receipt(), background: 1 }, "background", "1 (number)"],
  ["notes that are objects", { ...receipt(), notes: [{}] }, "notes", "a list of strings"],
  ["keys with a hole", { ...receipt(), input_keys: holed }, "input_keys", "(list)"],
  ["keys as text", { ...receipt(), input_keys: "a" }, "input_keys", '"a"'],
  ["error as an Error", { ...receipt(), error: new Error("x") }, "error", "(object)"],
  ["another kind", { ...receipt(), kind: "hook" }, "kind", '"hook"'],
  ["a toJSON of its own", { ...receipt(), toJSON: () => 1 }, "toJSON", "(function)"],
];

describe.each(STORES)("%s", (of) => {
  test.each(wrong)(
    "a receipt %s is refused with its field and value, and nothing is written",
    async (_, value, field, word) => {
      const store = await openStore(of);
      const issue = await issueOf(() => store.write(value as never));
      expect(issue).toMatchObject({ code: "option_invalid", path: `receipt.${field}` });
      expect(issue?.message).toContain(word);
      expect(issue?.message).toContain(store.path);
      store.write(receipt({ id: "next" }));
      store.close();
      expect(await readBack(of)).toMatchObject({ found: [{ id: "next" }], unreadable: 0 });
    },
  );

  test.each([
    [undefined, "undefined"],
    [null, "null"],
    [5, "5 (number)"],
    ["x", '"x" (string)'],
    [[receipt()], "(list)"],
    [() => {}, "(function)"],
    ["a field that throws", "throws", Object.defineProperty({}, "id", { get: fail, enumerable: true })],
    ["a Proxy that throws", "throws", new Proxy({}, { ownKeys: fail })],
  ] as [unknown, string, unknown?][])("%s is no receipt and no hook", async (shown, word, value = shown) => {
    const store = await openStore(of);
    for (const [what, use] of [
      ["receipt", () => store.write(value as never)],
      ["hook", () => store.register(value as never)],
    ] as const)
      expect(await issueOf(use)).toMatchObject({
        code: "option_invalid",
        path: what,
        message: expect.stringContaining(word),
      });
    store.close();
  });

  test("a registration without a name or with a priority that is none is refused", async () => {
    const store = await openStore(of);
    expect(await issueOf(() => store.register({ ...hook(), priority: Number.NaN }))).toMatchObject({
      path: "hook.priority",
    });
    expect(await issueOf(() => store.register({ ...hook(), name: undefined } as never))).toMatchObject({
      path: "hook.name",
      message: expect.stringContaining("it is missing"),
    });
    store.close();
  });

  test("a value that looks like a secret is not shown", async () => {
    const store = await openStore(of);
    const token = `ghp_${"a".repeat(36)}`;
    const issue = await issueOf(() => store.write({ ...receipt(), notes: token } as never));
    expect(issue?.message).toContain("(string)");
    expect(issue?.message).not.toContain(token);
    store.close();
  });

  test("a line that was read from a store is written again as it was", async () => {
    const store = await openStore(of);
    store.register({ kind: "hook", ...hook() } as never);
    store.write({ kind: "execution", ...fullReceipt({ id: "a" }) } as never);
    store.close();
    expect(await readBack(of)).toEqual({ found: [hook(), fullReceipt({ id: "a" })], unreadable: 0 });
  });

  test("whatever write takes is read again as it was", async () => {
    const store = await openStore(of);
    const taken: unknown[] = [];
    const anything = fc.oneof(
      fc.anything(),
      fc.string({ unit: "binary" }),
      fc.double(),
      fc.array(fc.string()),
      fc.constant(holed),
    );
    const fields = Object.keys(fullReceipt());
    fc.assert(
      fc.property(fc.constantFrom(...fields), anything, (field, value) => {
        if (field === "id") return;
        const given = { ...fullReceipt(), id: String(taken.length), [field]: value };
        try {
          store.write(given as never);
          taken.push(given);
        } catch (error) {
          expect((error as { issues: { code: string }[] }).issues[0]?.code).toBe("option_invalid");
        }
      }),
      { numRuns: 2000 },
    );
    store.close();
    const { found, unreadable } = await readBack(of);
    expect([found.length, unreadable]).toEqual([taken.length, 0]);
    expect(taken.length).toBeGreaterThan(0);
  });
});

test("a line that is longer than any reader reads is refused, and the next one is written", async () => {
  const store = await openStore("jsonl");
  const empty = Buffer.byteLength(JSON.stringify({ kind: "execution", ...receipt({ id: "a", error: "" }) }));
  const longest = LINE_MAX_BYTES - empty;
  expect(
    await issueOf(() => store.write(receipt({ id: "a", error: "x".repeat(longest + 1) }))),
  ).toMatchObject({
    code: "receipts_unwritable",
    message: expect.stringContaining(`${LINE_MAX_BYTES + 1} bytes`),
  });
  store.write(receipt({ id: "b", error: "x".repeat(longest) }));
  store.close();
  expect(await readBack("jsonl")).toMatchObject({ found: [{ id: "b" }], unreadable: 0 });
});

describe("a path that is none is refused at once, with the value", () => {
  test.each([undefined, null, 5, "", ["x"], {}, new URL("file:///x"), "a\0b"])("%s", async (path) => {
    for (const use of [
      () => createJsonlStore({ path } as never),
      () => readJsonlStore(path as never),
      () => readReceipts(path as never),
    ])
      expect(await issueOf(use)).toMatchObject({ code: "option_invalid", path: "path" });
  });

  test.each([
    [undefined, "options", "undefined"],
    [null, "options", "null"],
    ["x", "options", '"x"'],
    [[], "options", "(list)"],
    [{ path: "x", readOnly: true }, "readOnly", "not known"],
    [
      "a field that throws",
      "options",
      "throws",
      Object.defineProperty({}, "path", { get: fail, enumerable: true }),
    ],
  ] as [unknown, string, string, unknown?][])(
    "nor are %j options of a file",
    async (shown, path, word, options = shown) => {
      expect(await issueOf(() => createJsonlStore(options as never))).toMatchObject({
        code: "option_invalid",
        path,
        message: expect.stringContaining(word),
      });
    },
  );
});
