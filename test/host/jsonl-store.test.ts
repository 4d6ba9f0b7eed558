// What a host's file promises: who may read it, what is in it, what a killed writer costs, what is refused.

import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createJsonlStore, readJsonlStore } from "../../src/host/jsonl-store.ts";
import { LINE_MAX_BYTES } from "../../src/receipts/json-lines.ts";
import {
  collect,
  DIST,
  fullReceipt,
  hook,
  issueOf,
  makeFolder,
  receipt,
  startWriter,
} from "../store/support.ts";

let folder: Awaited<ReturnType<typeof makeFolder>>;
let path: string;
beforeEach(async () => {
  folder = await makeFolder();
  path = join(folder.path, "made", "here", "receipts.jsonl");
});
afterEach(() => folder.remove());

async function read(from = path) {
  const lines = readJsonlStore(from);
  const found = await collect(lines);
  return { found, ids: found.map(({ id }) => id), unreadable: lines.unreadable };
}

test("hooks and receipts are read back as they were written, in their order", async () => {
  const store = createJsonlStore({ path });
  const written = [fullReceipt({ seq: 0 }), receipt({ seq: 1 })];
  store.register(hook({ scope: "s", matcher: "Bash" }));
  for (const one of written) store.write(one);
  store.close();
  expect(await read()).toMatchObject({
    found: [
      { kind: "hook", ...hook({ scope: "s", matcher: "Bash" }) },
      ...written.map((one) => ({ kind: "execution", ...one })),
    ],
    unreadable: 0,
  });
});

test("a receipt is in the file when write returns, as one line, without a close", () => {
  const store = createJsonlStore({ path });
  store.write(receipt({ id: "a", error: "two\nlines" }));
  expect(readFileSync(path, "utf8").split("\n")).toHaveLength(2);
  store.close();
});

test("file and folders are the owner's alone, whatever the umask says", () => {
  const before = process.umask(0);
  try {
    createJsonlStore({ path }).close();
  } finally {
    process.umask(before);
  }
  const modeOf = (of: string) => statSync(of).mode & 0o777;
  expect([modeOf(path), modeOf(join(path, "..")), modeOf(join(path, "../.."))]).toEqual([
    0o600, 0o700, 0o700,
  ]);
});

test("a file that others could read is closed to them", () => {
  path = join(folder.path, "open.jsonl");
  writeFileSync(path, "");
  chmodSync(path, 0o666);
  createJsonlStore({ path }).close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a file that is opened again is added to", async () => {
  for (const id of ["a", "b"]) {
    const store = createJsonlStore({ path });
    store.write(receipt({ id }));
    store.close();
  }
  expect(await read()).toMatchObject({ ids: ["a", "b"], unreadable: 0 });
});

test("a torn last line costs itself alone: the next one begins a line of its own, and the reader counts it", async () => {
  const store = createJsonlStore({ path });
  for (const id of ["a", "torn"]) store.write(receipt({ id }));
  store.close();
  truncateSync(path, statSync(path).size - 20);
  expect(await read()).toMatchObject({ ids: ["a"], unreadable: 1 });
  const next = createJsonlStore({ path });
  next.write(receipt({ id: "b" }));
  next.close();
  expect(await read()).toMatchObject({ ids: ["a", "b"], unreadable: 1 });
});

test("a line that another process tore while this one had the file open costs itself alone", async () => {
  const store = createJsonlStore({ path });
  store.write(receipt({ id: "a" }));
  appendFileSync(path, '{"kind":"execution","id":"to');
  store.write(receipt({ id: "b" }));
  store.write(receipt({ id: "c" }));
  store.close();
  expect(await read()).toMatchObject({ ids: ["a", "b", "c"], unreadable: 1 });
});

test("a last line that lacks its newline alone is whole", async () => {
  const store = createJsonlStore({ path });
  store.write(receipt({ id: "a" }));
  store.close();
  truncateSync(path, statSync(path).size - 1);
  expect(await read()).toMatchObject({ ids: ["a"], unreadable: 0 });
});

test("what is no line of a host is passed over and counted", async () => {
  const store = createJsonlStore({ path });
  store.write(receipt({ id: "a" }));
  const lines = [
    "no json",
    "[]",
    "{}",
    '{"kind":"execution"}',
    JSON.stringify({ kind: "execution", ...receipt(), input_keys: [1] }),
    JSON.stringify({ kind: "execution", ...receipt(), seq: "0" }),
    JSON.stringify({ kind: "hook", ...hook(), scope: null }),
    JSON.stringify({ kind: "execution", ...receipt({ error: "x".repeat(LINE_MAX_BYTES) }) }),
  ];
  appendFileSync(path, `${lines.join("\n")}\n\n`);
  store.write(receipt({ id: "b" }));
  store.close();
  expect(await read()).toMatchObject({ ids: ["a", "b"], unreadable: lines.length });
});

test("a word of a newer version is still read", async () => {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(
    path,
    `${JSON.stringify({ kind: "execution", ...receipt({ id: "a" }), status: "skipped", more: 1 })}\n`,
  );
  expect(await read()).toMatchObject({ ids: ["a"], unreadable: 0 });
});

test("reading again counts anew", async () => {
  writeFileSync(join(folder.path, "x.jsonl"), "no json\n");
  const lines = readJsonlStore(join(folder.path, "x.jsonl"));
  await collect(lines);
  await collect(lines);
  expect(lines.unreadable).toBe(1);
});

test("several processes write whole lines into one file", async () => {
  const writers = ["a", "b", "c"].map((first) =>
    startWriter({ kind: "jsonl", path, first, count: 200, text: "x".repeat(20_000) }),
  );
  const ends = await Promise.all(writers.map(({ ended }) => ended));
  expect(ends).toEqual(writers.map(() => [0, null]));
  const { ids, unreadable } = await read();
  expect([new Set(ids).size, ids.length, unreadable]).toEqual([600, 600, 0]);
});

test("a writer that is killed at any moment loses no receipt whose write has returned", async () => {
  let rounds = 0;
  const written: string[] = [];
  for (; rounds < 20; rounds += 1) {
    const stopAt = 1 + Math.floor(Math.random() * 300);
    const writer = startWriter({
      kind: "jsonl",
      path,
      first: `r${rounds}`,
      text: "x".repeat(rounds % 2 === 0 ? 10 : 30_000),
      onId: () => writer.ids.length === stopAt && writer.child.kill("SIGKILL"),
    });
    expect(await writer.ended).toEqual([null, "SIGKILL"]);
    written.push(...writer.ids);
  }
  const { ids, unreadable } = await read();
  const there = new Set(ids);
  expect(written.filter((id) => !there.has(id))).toEqual([]);
  // The one in flight of each round may be there, torn or not at all.
  expect(unreadable).toBeLessThanOrEqual(rounds);
}, 120_000);

test("a closed store refuses, and a second close does nothing", async () => {
  const store = createJsonlStore({ path });
  store.close();
  store.close();
  expect(await issueOf(() => store.write(receipt({ id: "late" })))).toMatchObject({
    code: "receipts_unwritable",
    path,
    message: expect.stringMatching(/"late".*closed/),
  });
});

test("a file that was removed while it was open is told with every receipt", async () => {
  const store = createJsonlStore({ path });
  rmSync(path);
  for (const id of ["a", "b"])
    expect(await issueOf(() => store.write(receipt({ id })))).toMatchObject({
      message: expect.stringMatching(new RegExp(`"${id}".*was removed`)),
    });
  store.close();
});

test("a file that was moved is written on under its new name", async () => {
  const store = createJsonlStore({ path });
  renameSync(path, `${path}.1`);
  store.write(receipt({ id: "a" }));
  store.close();
  expect(await read(`${path}.1`)).toMatchObject({ ids: ["a"] });
});

test("a full disk is told with the system's word, and the next receipt stands alone", async () => {
  // A limit of the process takes the place of the disk's.
  const script = `
    const { createJsonlStore } = await import(process.argv[1] + "/host/jsonl-store.js");
    process.on("SIGXFSZ", () => {});
    const store = createJsonlStore({ path: process.argv[2] });
    const template = JSON.parse(process.argv[3]);
    const told = [];
    for (const [id, size] of [["a", 10], ["b", 100000], ["c", 10]]) {
      try { store.write({ ...template, id, error: "x".repeat(size) }); told.push(id); }
      catch (error) { told.push(error.issues[0].message); }
    }
    console.log(JSON.stringify(told));
  `;
  const out = execFileSync(
    "sh",
    [
      "-c",
      'ulimit -f 16; exec "$0" "$@"',
      process.execPath,
      "--input-type=module",
      "-e",
      script,
      DIST,
      path,
      JSON.stringify(receipt()),
    ],
    { encoding: "utf8" },
  );
  const [a, b, c] = JSON.parse(out);
  expect([a, b]).toEqual([
    "a",
    expect.stringMatching(/"b" was not written: (\d+ of \d+ bytes did fit|.*EFBIG)/),
  ]);
  expect(c).toMatch(/^c$|EFBIG/);
  expect(await read()).toMatchObject({ unreadable: 1 });
});

test.each([
  ["a symbolic link", "is a symbolic link", (at: string) => symlinkSync(join(folder.path, "elsewhere"), at)],
  ["a folder", "is no regular file", (at: string) => mkdirSync(at)],
  ["a FIFO", "is no regular file", (at: string) => void execFileSync("mkfifo", [at])],
])("%s is neither written nor read", async (_, message, make) => {
  path = join(folder.path, "there");
  make(path);
  expect(await issueOf(() => createJsonlStore({ path }))).toMatchObject({
    code: "receipts_unwritable",
    path,
    message,
  });
  expect(await issueOf(() => read())).toMatchObject({ code: "receipts_unreadable", path, message });
});

test.skipIf(process.getuid?.() !== 0)("another user's file is neither written nor read", async () => {
  path = join(folder.path, "there");
  writeFileSync(path, "");
  chownSync(path, 65_534, 65_534);
  const message = "belongs to uid 65534";
  expect(await issueOf(() => createJsonlStore({ path }))).toMatchObject({ message });
  expect(await issueOf(() => read())).toMatchObject({ message });
});

test("a place that cannot be made is refused with the file and the system's word", async () => {
  writeFileSync(join(folder.path, "file"), "");
  path = join(folder.path, "file", "receipts.jsonl");
  expect(await issueOf(() => createJsonlStore({ path }))).toMatchObject({
    code: "receipts_unwritable",
    path,
    message: expect.stringContaining("ENOTDIR"),
  });
});

test("a file that is not there cannot be read, and is not made", async () => {
  expect(await issueOf(() => read(join(folder.path, "none")))).toMatchObject({
    code: "receipts_unreadable",
    message: expect.stringContaining("ENOENT"),
  });
});

test("a relative path is resolved where the store is opened", () => {
  const before = process.cwd();
  const relative = join(".bridle-tmp", `store-${process.pid}.jsonl`);
  const store = createJsonlStore({ path: relative });
  try {
    expect(store.path).toBe(join(before, relative));
  } finally {
    store.close();
    rmSync(store.path);
  }
});
