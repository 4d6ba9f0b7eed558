import { execFileSync } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readEnvelope } from "../../src/broker/request-queue.ts";
import { makeScratch, removeScratch } from "./support.ts";

let scratch: string;
let path: string;
beforeEach(async () => {
  scratch = await makeScratch();
  path = join(scratch, "envelope");
});
afterEach(() => removeScratch(scratch));

const KIB = 1024;

it.each([
  ["nothing", ""],
  ["a few bytes", '{"a":"é\\u0000"}\n'],
  ["bytes that are no UTF-8", Buffer.from([123, 255, 254, 195, 125])],
  ["the most that is read at once", "é".repeat(128 * KIB)],
  ["one byte more", `${"é".repeat(128 * KIB)}x`],
  ["2 MB", "é\n".repeat(700_000)],
])("%s is read as it stands", async (_name, content) => {
  await writeFile(path, content);
  expect(await readEnvelope(path)).toBe(Buffer.from(content).toString("utf8"));
});

const noEnvelopes: Record<string, [() => Promise<unknown>, RegExp]> = {
  "a FIFO nobody writes to": [async () => execFileSync("mkfifo", [path]), /not a regular file/],
  "a folder": [() => mkdir(path), /not a regular file|EISDIR/],
  "a link to a file": [
    async () => {
      await writeFile(`${path}-real`, "{}");
      await symlink(`${path}-real`, path);
    },
    /ELOOP/,
  ],
  "a device without an end": [() => symlink("/dev/zero", path), /ELOOP/],
  "more than may be read": [
    async () => {
      await writeFile(path, "");
      await truncate(path, 256 * KIB * KIB + 1);
    },
    /268435457 bytes/,
  ],
  "nothing there": [async () => {}, /ENOENT/],
};

it.each(Object.keys(noEnvelopes))("is refused at once: %s", async (name) => {
  const [make, words] = noEnvelopes[name] ?? [];
  await make?.();
  await expect(readEnvelope(path)).rejects.toThrow(words);
});
