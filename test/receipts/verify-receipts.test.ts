import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyReceipts } from "../../src/index.ts";
import { noteRecovery } from "../../src/journal/note-recovery.ts";
import type { RunRecord } from "../../src/journal/record.ts";
import { genesisOf, sealLine } from "../../src/receipts/chain.ts";
import type { ReceiptLine, StampedReceipt } from "../../src/receipts/receipt.ts";
import { createReceiptWriter } from "../../src/receipts/writer.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-verify-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const RUN = "33333333-aaaa-4aaa-8aaa-000000000001";
const redactor = createRedactor();
const END: ReceiptLine = {
  kind: "run_ended",
  outcome: "success",
  reason: "completed",
  exit_code: 0,
  signal: null,
  duration_ms: 1,
  extinction: "proven",
};
const warning = (message: string): ReceiptLine => ({ kind: "warning", code: "c", message });

/** As a run writes it, through the writer. */
async function linesOf(count: number, { runId = RUN, isEnded = true } = {}): Promise<string[]> {
  const texts: string[] = [];
  const sink = (line: StampedReceipt) => void texts.push(JSON.stringify(line));
  const writer = await createReceiptWriter({ runId, redactor, sink });
  for (let index = 0; index < count; index += 1) writer.write(warning(`é😀 ${index} \ud800`));
  if (isEnded) writer.write(END);
  await writer.close();
  return texts;
}

let made = 0;
function place(content: string | Buffer): string {
  made += 1;
  const path = join(folder, `receipts-${made}.jsonl`);
  writeFileSync(path, content);
  return path;
}
const joined = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
const verify = (lines: readonly string[]) => verifyReceipts(place(joined(lines)));
const kinds = ({ problems }: Awaited<ReturnType<typeof verify>>) =>
  problems.map(({ kind, line }) => [kind, line]);

test("the file that a run writes is intact, and ends in the head of the writer", async () => {
  const writer = await createReceiptWriter({ runId: RUN, redactor, directory: join(folder, "own") });
  for (const text of ["a", "b"]) writer.write(warning(text));
  writer.write(END);
  await writer.close();
  const path = writer.path as string;
  expect(await verifyReceipts(path, { head: writer.head as string })).toEqual({
    path,
    state: "intact",
    lines: 3,
    runs: [{ runId: RUN, lines: 3, head: writer.head, isEnded: true }],
    problems: [],
  });
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(JSON.parse(lines[0] as string).prev).toBe(genesisOf(RUN));
  expect(Object.keys(JSON.parse(lines[2] as string)).slice(-3)).toEqual(["lines", "prev", "hash"]);
});

test("a sink that writes its lines as JSON writes what can be verified, of several runs too", async () => {
  const other = "33333333-bbbb-4aaa-8aaa-000000000002";
  const [one, two] = [await linesOf(2), await linesOf(2, { runId: other })];
  const mixed = [one[0], two[0], two[1], one[1], one[2], two[2]] as string[];
  expect(await verify(mixed)).toMatchObject({ state: "intact", runs: [{ runId: RUN }, { runId: other }] });
});

describe("what was done to a file", () => {
  test.each([
    ["a changed word", (l: string[]) => l.with(2, (l[2] as string).replace(" 2 ", " 7 ")), [["changed", 3]]],
    ["a line that is gone", (l: string[]) => l.toSpliced(2, 1), [["missing", 3]]],
    ["three lines that are gone", (l: string[]) => l.toSpliced(1, 3), [["missing", 2]]],
    ["the first line gone", (l: string[]) => l.slice(1), [["missing", 1]]],
    [
      "two that changed places",
      (l: string[]) => [l[0], l[2], l[1], l[3], l[4], l[5]] as string[],
      [["reordered", 3]],
    ],
    [
      "the end before another line",
      (l: string[]) => [l[0], l[1], l[2], l[3], l[5], l[4]] as string[],
      [["reordered", 6]],
    ],
    ["a line twice", (l: string[]) => l.toSpliced(2, 0, l[1] as string), [["added", 3]]],
    ["a line behind the end", (l: string[]) => [...l, l[1] as string], [["added", 7]]],
    ["an empty line", (l: string[]) => l.toSpliced(2, 0, ""), [["added", 3]]],
    ["a line without a hash", (l: string[]) => l.toSpliced(2, 0, `{"run_id":"${RUN}"}`), [["changed", 3]]],
    ["text", (l: string[]) => l.toSpliced(2, 0, "text"), [["changed", 3]]],
    [
      "a carriage return",
      (l: string[]) => l.with(2, `${l[2]}\r`),
      [
        ["changed", 3],
        ["changed", 4],
      ],
    ],
  ])("%s is named, with its line", async (_what, change, expected) => {
    const found = await verify(change((await linesOf(5)).map(String)));
    expect(found.state).toBe("broken");
    expect(kinds(found)).toEqual(expected);
  });

  test("a line that was made anew with its own hash does not fit the next", async () => {
    const lines = await linesOf(5);
    const { prev, hash: _hash, ...line } = JSON.parse(lines[1] as string);
    const forged = sealLine({ ...line, message: "forged" }, prev).text;
    expect(kinds(await verify(lines.with(1, forged)))).toEqual([["changed", 3]]);
  });

  test("a first line that was sealed for another run does not begin this one", async () => {
    const { prev: _prev, hash: _hash, ...first } = JSON.parse((await linesOf(1))[0] as string);
    const other = genesisOf("33333333-bbbb-4aaa-8aaa-000000000002");
    expect(kinds(await verify([sealLine(first, other).text]))).toEqual([["changed", 1]]);
  });

  test("the lines of one run under the name of another are told", async () => {
    const path = join(folder, "44444444-aaaa-4aaa-8aaa-000000000001.jsonl");
    writeFileSync(path, joined(await linesOf(2)));
    expect(kinds(await verifyReceipts(path))).toEqual([["foreign", 1]]);
  });

  test("a file that was rewritten as a whole is only found by a head that was noted elsewhere", async () => {
    const head = JSON.parse((await linesOf(3)).at(-1) as string).hash;
    const path = place(joined(await linesOf(2)));
    expect((await verifyReceipts(path)).state).toBe("intact");
    const compared = await verifyReceipts(path, { head });
    expect([compared.state, kinds(compared)]).toEqual(["broken", [["head", 3]]]);
  });

  test("a cut tail leaves no end, and a half line is torn", async () => {
    const lines = await linesOf(3);
    expect(await verify(lines.slice(0, 3))).toMatchObject({ state: "open", problems: [] });
    const half = place(`${joined(lines.slice(0, 3))}${(lines[3] as string).slice(0, 40)}`);
    expect(await verifyReceipts(half)).toMatchObject({
      state: "open",
      problems: [{ kind: "torn", line: 4 }],
    });
    const unclosed = place(joined(lines).slice(0, -1));
    expect(await verifyReceipts(unclosed)).toMatchObject({ state: "open", problems: [{ kind: "torn" }] });
  });

  test("what was written before there was a chain is told as not chained", async () => {
    const old = (await linesOf(2)).map((line) => line.replace(/,"prev".*/, "}"));
    expect(await verify(old)).toMatchObject({
      state: "not_chained",
      problems: [{ kind: "not_chained", line: 1 }],
    });
    expect((await verify([])).state).toBe("open");
    expect((await verify([JSON.stringify({ kind: "execution", id: "x", run_id: "r" })])).state).not.toBe(
      "intact",
    );
  });
});

test("any one edit of a file is found", async () => {
  const lines = await linesOf(8);
  const whole = Buffer.from(joined(lines));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.record({ what: fc.constant("byte" as const), at: fc.nat(whole.length - 1), to: fc.nat(255) }),
        fc.record({ what: fc.constant("insert" as const), at: fc.nat(whole.length), to: fc.nat(255) }),
        fc.record({ what: fc.constant("drop" as const), at: fc.nat(whole.length - 1), to: fc.nat(20) }),
      ),
      async ({ what, at, to }) => {
        const middle = what === "drop" ? Buffer.alloc(0) : Buffer.from([to]);
        const skipped = what === "byte" ? 1 : what === "drop" ? 1 + to : 0;
        const edited = Buffer.concat([whole.subarray(0, at), middle, whole.subarray(at + skipped)]);
        fc.pre(!edited.equals(whole));
        expect((await verifyReceipts(place(edited))).state).not.toBe("intact");
      },
    ),
    { numRuns: 400 },
  );
});

test("any removal, swap, copy or move of lines is found", async () => {
  const lines = await linesOf(9);
  const index = fc.nat(lines.length - 1);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("remove", "swap", "copy", "move"),
      index,
      index,
      async (what, from, to) => {
        const line = lines[from] as string;
        const edited =
          what === "remove"
            ? lines.filter((_, at) => at < Math.min(from, to) || at > Math.max(from, to))
            : what === "swap"
              ? lines.with(from, lines[to] as string).with(to, line)
              : what === "copy"
                ? lines.toSpliced(to, 0, line)
                : lines.toSpliced(from, 1).toSpliced(to, 0, line);
        fc.pre(joined(edited) !== joined(lines));
        const { state, problems } = await verify(edited);
        expect(state).not.toBe("intact");
        // Only a tail that is gone leaves nothing that does not fit.
        const isTail = what === "remove" && Math.max(from, to) === lines.length - 1;
        if (!isTail) expect(problems.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 400 },
  );
});

describe("a run whose writer was killed", () => {
  const recordOf = (receiptPath: string) =>
    ({ admitted: { runId: RUN, receiptPath, at: new Date().toISOString() } }) as RunRecord;
  const ending = {
    outcome: "lost",
    reason: "supervisor_gone",
    extinction: { state: "swept" as const, method: "marker", survivors: [] },
    exitDelivery: "none" as const,
    hooks: [],
  };

  test.each([
    ["between two lines", (text: string) => text, []],
    ["in a line", (text: string) => text.slice(0, -30), ["torn"]],
    ["before a newline", (text: string) => text.slice(0, -1), []],
    ["at the start of a line", (text: string) => `${text}{`, ["torn"]],
  ])("%s: recovery goes on with the chain, and it is intact", async (_when, cut, expected) => {
    const path = place(cut(joined(await linesOf(4, { isEnded: false }))));
    expect((await verifyReceipts(path)).state).toBe("open");
    await noteRecovery(recordOf(path), ending);
    const found = await verifyReceipts(path);
    expect(found.state).toBe("intact");
    expect(found.problems.map(({ kind }) => kind)).toEqual(expected);
  });

  test("without a chain it stays without one", async () => {
    const path = place(joined((await linesOf(2)).slice(0, 2).map((line) => line.replace(/,"prev".*/, "}"))));
    await noteRecovery(recordOf(path), ending);
    expect(await verifyReceipts(path)).toMatchObject({ state: "not_chained", lines: 3 });
  });

  test("a line that somebody has torn later is not taken for one that recovery had found", async () => {
    const path = place(joined(await linesOf(4, { isEnded: false })));
    await noteRecovery(recordOf(path), ending);
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    const torn = lines.with(3, (lines[3] as string).slice(0, 50));
    expect((await verify(torn)).state).toBe("broken");
  });

  test("with SIGKILL at a random moment: at most the last line is torn, and recovery makes it whole", async () => {
    for (let round = 0; round < 8; round += 1) {
      const runId = `55555555-aaaa-4aaa-8aaa-00000000000${round}`;
      const program = `
        import { createReceiptWriter } from ${JSON.stringify(fileURLToPath(new URL("../../src/receipts/writer.ts", import.meta.url)))};
        import { createRedactor } from ${JSON.stringify(fileURLToPath(new URL("../../src/redaction/redactor.ts", import.meta.url)))};
        const writer = await createReceiptWriter({ runId: ${JSON.stringify(runId)}, redactor: createRedactor(), directory: ${JSON.stringify(folder)} });
        console.log("open");
        for (let n = 0; ; n += 1) {
          writer.write({ kind: "warning", code: "c", message: "x".repeat(n % 5000) });
          if (n % 20 === 0) await new Promise(setImmediate);
        }`;
      const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(child.stdout, "data");
      await wait(Math.random() * 150);
      child.kill("SIGKILL");
      await once(child, "close");
      const path = join(folder, `${runId}.jsonl`);
      const before = await verifyReceipts(path);
      expect(before.state).toBe("open");
      expect(before.problems.every(({ kind, line }) => kind === "torn" && line === before.lines)).toBe(true);
      if (before.lines - before.problems.length === 0) continue;
      await noteRecovery({ admitted: { ...recordOf(path).admitted, runId } } as RunRecord, ending);
      expect((await verifyReceipts(path)).state).toBe("intact");
    }
  });
});

test("a write that did not fit whole costs its own lines alone, and the gap is named", async () => {
  const lines = await linesOf(4);
  const withGap = [lines[0], (lines[1] as string).slice(0, 25), lines[2], lines[3], lines[4]] as string[];
  const found = await verify(withGap);
  expect([found.state, kinds(found)]).toEqual([
    "broken",
    [
      ["changed", 2],
      ["missing", 3],
    ],
  ]);
});

test("the seal can be made again with nothing but a hash of the bytes", async () => {
  const { hash } = await import("node:crypto");
  const [first = "", second = ""] = await linesOf(2);
  const [open = "", rest = ""] = second.split(',"hash":"');
  expect(rest).toBe(`${hash("sha256", open, "hex")}"}`);
  expect(JSON.parse(second).prev).toBe(JSON.parse(first).hash);
});

test("what cannot be read, and a head that is none, refuse", async () => {
  await expect(verifyReceipts(join(folder, "none"))).rejects.toMatchObject({
    issues: [{ code: "receipts_unreadable" }],
  });
  const link = join(folder, "link.jsonl");
  symlinkSync(place(""), link);
  await expect(verifyReceipts(link)).rejects.toMatchObject({ issues: [{ code: "receipts_unreadable" }] });
  await expect(verifyReceipts(link, { head: "x" })).rejects.toMatchObject({
    issues: [{ code: "option_invalid", path: "head" }],
  });
});
