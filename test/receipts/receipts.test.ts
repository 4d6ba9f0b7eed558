import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fieldSizes, type ReceiptLine, type StampedReceipt } from "../../src/receipts/receipt.ts";
import { createReceiptWriter, stateDirectory } from "../../src/receipts/writer.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-receipts-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const redactor = createRedactor({ values: ["planted-secret"] });
const warning = (message: string): ReceiptLine => ({ kind: "warning", code: "c", message });

async function writeToFile(runId: string, lines: ReceiptLine[]) {
  const writer = await createReceiptWriter({ runId, redactor, directory: join(folder, "made", "here") });
  for (const line of lines) writer.write(line);
  expect(await writer.close()).toBeUndefined();
  const path = writer.path as string;
  return {
    path,
    lines: (await readFile(path, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  };
}

test("lines are written in order with a gap-free number", async () => {
  const { lines } = await writeToFile(
    "order",
    Array.from({ length: 200 }, (_, index) => warning(`m${index}`)),
  );
  expect(lines.map(({ seq, message }) => [seq, message])).toEqual(
    Array.from({ length: 200 }, (_, index) => [index, `m${index}`]),
  );
});

test("the file can be read by its owner alone", async () => {
  const { path } = await writeToFile("mode", [warning("x")]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("the folder made for it can be entered by its owner alone", async () => {
  const { path } = await writeToFile("folder", [warning("x")]);
  expect((await stat(join(path, ".."))).mode & 0o777).toBe(0o700);
});

test("a file of the same run is never written over", async () => {
  await writeToFile("once", [warning("x")]);
  await expect(writeToFile("once", [warning("y")])).rejects.toMatchObject({ cause: { code: "EEXIST" } });
});

test("a file that cannot be made is refused with its name and the cause", async () => {
  const { path: file } = await writeToFile("file", [warning("x")]);
  const directory = join(file, "below");
  await expect(createReceiptWriter({ runId: "r", redactor, directory })).rejects.toMatchObject({
    issues: [
      {
        code: "receipts_unwritable",
        path: "receiptsDir",
        message: expect.stringMatching(new RegExp(`^${directory}/r\\.jsonl .*ENOTDIR`)),
      },
    ],
  });
});

test("a secret in a line is gone", async () => {
  const { path } = await writeToFile("secret", [
    warning("planted-secret"),
    { kind: "fault", fault: "planted-secret", detail: "Authorization: Bearer abcdefghijklmnop" },
  ]);
  expect(await readFile(path, "utf8")).not.toMatch(/planted-secret|abcdefghijklmnop/);
});

describe("a sink", () => {
  test("gets the lines in order even when it is slow at first", async () => {
    const seen: number[] = [];
    let open: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const sink = async ({ seq }: StampedReceipt) => {
      if (seq === 0) await gate;
      seen.push(seq);
    };
    const writer = await createReceiptWriter({ runId: "r", redactor, sink });
    for (const text of ["a", "b", "c"]) writer.write(warning(text));
    open();
    await writer.close();
    expect(seen).toEqual([0, 1, 2]);
  });

  test("that throws is told by close, and the next line is still given to it", async () => {
    const seen: number[] = [];
    const sink = ({ seq }: StampedReceipt) => {
      seen.push(seq);
      if (seq === 0) throw new Error("disk full");
    };
    const writer = await createReceiptWriter({ runId: "r", redactor, sink });
    writer.write(warning("a"));
    writer.write(warning("b"));
    expect((await writer.close())?.message).toBe("disk full");
    expect(seen).toEqual([0, 1]);
  });

  test("that throws twice is told by its first error", async () => {
    const sink = ({ seq }: StampedReceipt) => {
      throw new Error(`error ${seq}`);
    };
    const writer = await createReceiptWriter({ runId: "r", redactor, sink });
    writer.write(warning("a"));
    writer.write(warning("b"));
    expect((await writer.close())?.message).toBe("error 0");
  });

  test("that rejects with no error is told as one", async () => {
    const writer = await createReceiptWriter({ runId: "r", redactor, sink: () => Promise.reject("no") });
    writer.write(warning("a"));
    expect(await writer.close()).toEqual(new Error("no"));
  });

  test("has no path", async () => {
    expect((await createReceiptWriter({ runId: "r", redactor, sink: () => {} })).path).toBeUndefined();
  });
});

test("an envelope is told by field names and sizes, never by its values", () => {
  const sizes = fieldSizes({ prompt: "very private", tool_input: { command: "rm" }, none: undefined });
  expect(sizes).toEqual({ prompt: 14, tool_input: 16, none: 0 });
});

test.each([
  [{ XDG_STATE_HOME: "/state", HOME: "/h" }, "/state/bridle"],
  [{ XDG_STATE_HOME: "relative", HOME: "/h" }, "/h/.local/state/bridle"],
  [{ HOME: "/h" }, "/h/.local/state/bridle"],
])("the state directory of %j is %s", (env, expected) => {
  expect(stateDirectory(env)).toBe(expected);
});
