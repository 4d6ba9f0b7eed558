// The bytes of a binary are read once for any number of compiles, and read again when anything about the file is another.

import type { createReadStream } from "node:fs";
import { appendFile, chmod, utimes } from "node:fs/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { compileAgentHooks } from "../../src/index.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { identifyFile } from "../../src/trust/identity.ts";
import { makePlace, type Place } from "../spawn/support.ts";

const read = vi.hoisted((): string[] => []);
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const noted: typeof createReadStream = (path, options) => {
    read.push(String(path));
    return fs.createReadStream(path, options);
  };
  return { ...fs, createReadStream: noted };
});

let place: Place;
let binary: string;
beforeEach(async () => {
  place = await makePlace();
  ({ binary } = await createFakeProvider({
    provider: "claude",
    script: { steps: [{ text: "x" }] },
    directory: place.home,
  }));
  binary = (await identifyFile(binary)).path;
  read.length = 0;
});
afterEach(() => place.remove());

const reads = () => read.filter((path) => path === binary).length;
const compile = () =>
  compileAgentHooks(
    { agent_exit: [{ hooks: [{ type: "function", handler: () => undefined }] }] },
    { provider: "claude", cwd: place.cwd, binary, prove: "off" },
  );

test("a known binary is not read again, however often it is compiled for", async () => {
  await Promise.all([compile(), compile()]);
  await compile();
  expect(reads()).toBe(0);
});

test("a binary that nobody has read is read once by compiles at the same time", async () => {
  await appendFile(binary, "\n");
  const tokens = await Promise.all([compile(), compile(), compile()]);
  expect(reads()).toBe(1);
  expect(new Set(tokens.map(({ digest }) => digest)).size).toBe(1);
});

test.each([
  ["other bytes", () => appendFile(binary, "// more\n")],
  ["another time", () => utimes(binary, new Date(0), new Date(0))],
  ["another change time alone", () => chmod(binary, 0o700)],
])("%s: it is read again", async (_, change) => {
  const before = await compile();
  await change();
  await compile();
  expect(reads()).toBe(1);
  expect(before.digest).toBeDefined();
});
