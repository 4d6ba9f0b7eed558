import { describe, expect, it, test } from "vitest";
import { createTypeReader, OTHER, UNTOLD } from "../../src/render/line-type.ts";
import type { StreamEvent, Wants } from "../../src/render/provider.ts";
import { adapterFor } from "../../src/render/registry.ts";

describe("the type of a line", () => {
  const read = createTypeReader(["user", "user_message", "result"]);
  const of = (line: string, before = "") => {
    const bytes = Buffer.from(`${before}${line}`);
    return read(bytes, Buffer.byteLength(before), bytes.length);
  };

  it.each([
    ['{"type":"user","x":1}', 0],
    ['{"type":"user_message"}', 1],
    ['{"type":"result"', 2],
    ['{"type":"use"}', OTHER],
    ['{"type":"users"}', OTHER],
    ['{"type":""}', OTHER],
    ['{"type":"stream_event"}', OTHER],
    ['{"type":"user', UNTOLD],
    ['{"type":"', UNTOLD],
    ['{"type": "user"}', UNTOLD],
    ['{"subtype":"user","type":"user"}', UNTOLD],
    ['{"type":1}', UNTOLD],
    [`{"type":"${"x".repeat(100)}"}`, UNTOLD],
    ["", UNTOLD],
    ["{", UNTOLD],
  ])("%s", (line, expected) => {
    expect(of(line)).toBe(expected);
    expect(of(line, "é\n")).toBe(expected);
  });

  it("is not read past the end of the line", () => {
    const bytes = Buffer.from('{"type":"user"}');
    expect(read(bytes, 0, bytes.indexOf('"}'))).toBe(UNTOLD);
  });
});

describe("a line that nobody wants", () => {
  const wantsOnly =
    (...types: StreamEvent["type"][]): Wants =>
    (type) =>
      types.includes(type);
  const skips = (parser: ReturnType<ReturnType<typeof adapterFor>["createStreamParser"]>, line: object) => {
    const bytes = Buffer.from(JSON.stringify(line));
    return parser.skips?.(bytes, 0, bytes.length) === true;
  };
  const assistant = { type: "assistant", message: { content: [{ type: "text", text: "hello" }] } };
  const user = { type: "user", message: { content: [{ type: "tool_result", tool_use_id: "t" }] } };
  const result = { type: "result", subtype: "success", result: "done" };
  const claude = (wants?: Wants) => adapterFor("claude").createStreamParser(wants);
  const codex = (wants?: Wants) => adapterFor("codex").createStreamParser(wants);

  test("claude: nothing is passed over when everything is wanted", () => {
    const parser = claude();
    parser.push(JSON.stringify(assistant));
    for (const line of [assistant, user, result, { type: "stream_event" }])
      expect(skips(parser, line)).toBe(false);
  });

  test("claude: the model's first line of a turn is read, and then none until a final message", () => {
    const parser = claude(wantsOnly("result"));
    expect(skips(parser, assistant)).toBe(false);
    parser.push(JSON.stringify(assistant));
    expect(skips(parser, assistant)).toBe(true);
    parser.push(JSON.stringify(result));
    expect(skips(parser, assistant)).toBe(false);
    expect(parser.push(JSON.stringify(assistant))[0]).toEqual({ type: "turn_started" });
    expect(skips(parser, assistant)).toBe(true);
  });

  test("claude: what supervision goes by is always read", () => {
    const parser = claude(wantsOnly());
    parser.push(JSON.stringify(assistant));
    for (const type of ["system", "result", "control_request", "control_response"])
      expect([type, skips(parser, { type })]).toEqual([type, false]);
    expect(skips(parser, { duration_ms: 1, type: "result" })).toBe(false);
  });

  test.each(["message", "thinking", "tool_call", "raw"] as const)(
    "claude: lines of the model are read for %s",
    (type) => {
      const parser = claude(wantsOnly(type));
      parser.push(JSON.stringify(assistant));
      expect(skips(parser, assistant)).toBe(false);
    },
  );

  test("claude: results of tools are read when they are wanted, other lines for raw", () => {
    expect([
      skips(claude(wantsOnly("tool_result")), user),
      skips(claude(wantsOnly("message")), user),
    ]).toEqual([false, true]);
    const other = { type: "stream_event" };
    expect([skips(claude(wantsOnly("raw")), other), skips(claude(wantsOnly("message")), other)]).toEqual([
      false,
      true,
    ]);
  });

  test("codex: finished items are always read, begun ones where calls are wanted", () => {
    const started = { type: "item.started", item: { type: "command_execution" } };
    for (const type of ["item.completed", "turn.completed", "turn.failed", "thread.started", "error"])
      expect([type, skips(codex(wantsOnly()), { type })]).toEqual([type, false]);
    expect(skips(codex(wantsOnly("message")), started)).toBe(true);
    expect(skips(codex(wantsOnly("tool_call")), started)).toBe(false);
    expect(skips(codex(wantsOnly("message")), { type: "item.updated" })).toBe(true);
    expect(skips(codex(), { type: "item.updated" })).toBe(false);
  });
});
