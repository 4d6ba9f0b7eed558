import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { createLineReader, encodeCall, readWord } from "../../../src/exec/persistent/protocol.ts";
import { SHELL_CALL } from "../../broker/chain-support.ts";

const read = (line: string) => readWord(Buffer.from(line));

it("a call is one line with the envelope of a one-shot guard in it, whatever that holds", () => {
  const envelope = { ...SHELL_CALL, tool_input: { command: "a\nb\u2028\u2029\u0085\u0000é" } };
  const text = encodeCall("7", envelope);
  expect(text.indexOf("\n")).toBe(text.length - 1);
  expect(text).not.toMatch(/[\r\u0085\u2028\u2029]/);
  expect(JSON.parse(text)).toEqual({ id: "7", event: "PreToolUse", envelope });
});

describe("a word", () => {
  it.each([
    ['{"id":"a"}', { blocks: false, text: "" }],
    ['{"id":"a","answer":null}', { blocks: false, text: "" }],
    ['{"id":"a","answer":{}}\r', { blocks: false, text: "{}" }],
    [' {"answer":{"x":[1]},"id":"a"} ', { blocks: false, text: '{"x":[1]}' }],
    ['{"id":"a","block":"no"}', { blocks: true, text: "no" }],
    ['{"id":"a","block":""}', { blocks: true, text: "" }],
  ])("%j is one", (line, word) => {
    expect(read(line)).toEqual({ id: "a", ...word });
  });

  it.each([
    ["", "is not JSON"],
    ["loading model…", "is not JSON"],
    ['{"id":"a"} {"id":"b"}', "is not JSON"],
    ["[]", "is not a JSON object"],
    ["null", "is not a JSON object"],
    ["{}", "names no call"],
    ['{"id":1,"answer":{}}', "names no call"],
    ['{"id":"a","anwser":{}}', 'holds "anwser", which is none of id, answer and block'],
    ['{"id":"a","decision":"block"}', 'holds "decision", which is none of id, answer and block'],
    ['{"id":"a","answer":{},"block":"no"}', "holds both answer and block"],
    ['{"id":"a","block":null}', "holds a block that is no text"],
    ['{"id":"a","block":true}', "holds a block that is no text"],
    ['{"id":"a","answer":[]}', "holds an answer that is no object"],
    ['{"id":"a","answer":"deny"}', "holds an answer that is no object"],
    ['{"id":"a","answer":false}', "holds an answer that is no object"],
    ['{"id":"a","answer":{"decision":"block"},"answer":{}}', 'holds "answer" twice'],
    ['{"id":"a","answer":{"decision":"block","decision":1}}', 'holds "decision" twice'],
    ['{"id":"a","__proto__":{"block":"x"}}', 'holds "__proto__", which is none of id, answer and block'],
  ])("%j is none", (line, why) => {
    expect(read(line)).toBe(why);
  });

  it("is not nested without bounds", () => {
    const deep = "[".repeat(400_000) + "]".repeat(400_000);
    expect(read(`{"id":"a","answer":{"x":${deep}}}`)).toBe("is nested too deep");
  });

  it("is UTF-8: other bytes are none", () => {
    expect(readWord(Buffer.from([...Buffer.from('{"id":"'), 0xff, ...Buffer.from('"}')]))).toBe(
      "is not UTF-8",
    );
  });
});

describe("lines", () => {
  const linesOf = (chunks: readonly Buffer[], cap: number) => {
    const lines: string[] = [];
    let tooLong = 0;
    const reader = createLineReader(
      {
        onLine: (line) => lines.push(line.toString()) > 0,
        onTooLong: () => {
          tooLong += 1;
        },
      },
      cap,
    );
    for (const chunk of chunks) reader.push(chunk);
    return { lines, tooLong };
  };

  test("are the same however their bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" })),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (texts, sizes) => {
          const lines = texts.map((text) => text.replaceAll("\n", " "));
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const chunks: Buffer[] = [];
          for (let at = 0; at < bytes.length; ) {
            const size = sizes.next().value as number;
            chunks.push(Buffer.from(bytes.subarray(at, at + size)));
            at += size;
          }
          expect(linesOf(chunks, 10_000)).toEqual({ lines, tooLong: 0 });
        },
      ),
    );
  });

  test("as long as the cap are lines, and longer ones are told before they end, and nothing after them", () => {
    const at = (text: string) => linesOf([Buffer.from(text)], 4);
    expect(at("abcd\nab\n")).toEqual({ lines: ["abcd", "ab"], tooLong: 0 });
    expect(at("ab\nabcde\nab\n")).toEqual({ lines: ["ab"], tooLong: 1 });
    expect(at("ab\nabcde")).toEqual({ lines: ["ab"], tooLong: 1 });
    expect(
      linesOf(
        ["ab", "cd", "e", "\nab\n"].map((part) => Buffer.from(part)),
        4,
      ),
    ).toEqual({
      lines: [],
      tooLong: 1,
    });
  });

  test("after one that was not wanted are not read", () => {
    const lines: string[] = [];
    const onLine = (line: Buffer) => {
      lines.push(line.toString());
      return lines.length < 2;
    };
    createLineReader({ onLine, onTooLong: () => {} }, 10).push(Buffer.from("a\nb\nc\n"));
    expect(lines).toEqual(["a", "b"]);
  });
});
