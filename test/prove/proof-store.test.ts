// Records on disk: whole or not at all, ours alone, about exactly one key.

import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sealProof } from "../../src/prove/proof.ts";
import {
  loadProof,
  loadShippedProof,
  proofPath,
  saveProof,
  withProofLock,
} from "../../src/prove/proof-store.ts";
import { KEY, makeCase, makeProof } from "./support.ts";

let directory: string;
beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), "bridle-proofs-")), "proofs");
});
afterEach(() => rm(join(directory, ".."), { recursive: true, force: true }));

const proof = makeProof([makeCase("deny-shell")]);
const put = async (text: string, mode = 0o600) => {
  await mkdir(directory, { recursive: true });
  await writeFile(proofPath(directory, KEY), text, { mode });
  await chmod(proofPath(directory, KEY), mode);
};

test("what is saved is found, 0600 in a 0700 folder, and nothing else stays", async () => {
  const path = await saveProof(directory, KEY, proof);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect(await readdir(directory)).toHaveLength(1);
  expect(await loadProof(directory, KEY)).toEqual({ proof, path });
});

test("a new proof replaces the old one whole", async () => {
  await saveProof(directory, KEY, makeProof([makeCase("a"), makeCase("b")]));
  await saveProof(directory, KEY, proof);
  expect((await loadProof(directory, KEY)).proof).toEqual(proof);
  expect(await readdir(directory)).toHaveLength(1);
});

test("nothing on record is absent without a reason", async () => {
  expect(await loadProof(directory, KEY)).toEqual({ proof: undefined, reason: undefined });
});

describe("counts as absent, and says why", () => {
  test.each([
    ["another binary", { sha256: "c".repeat(64) }],
    ["another platform", { platform: "darwin-arm64" }],
    ["another profile", { profile: "v2" }],
    ["another matrix", { matrix: "d".repeat(64) }],
    ["another version of Bridle", { bridle: "9.9.9" }],
    ["another provider", { provider: "claude" as const }],
  ])("a proof of %s", async (_what, part) => {
    const other = { ...KEY, ...part };
    await mkdir(directory, { recursive: true });
    // Under the other key's name too: the name decides nothing.
    await writeFile(proofPath(directory, other), JSON.stringify(proof), { mode: 0o600 });
    expect(await loadProof(directory, other)).toMatchObject({
      reason: expect.stringMatching(/something else/),
    });
  });

  const text = JSON.stringify(proof);
  test.each([
    ["that is cut short", text.slice(0, -20), /cannot be read/],
    ["that is empty", "", /cannot be read/],
    ["of another shape", "{}", /shape/],
    ["of a newer format", JSON.stringify({ ...proof, format: 2 }), /newer/],
    ["that was edited", text.replace("no happened", "it happened"), /changed after/],
    ["from the future", JSON.stringify(makeProof([], { provedAt: "2999-01-01T00:00:00.000Z" })), /future/],
  ])("a record %s", async (_what, content, reason) => {
    await put(content);
    expect(await loadProof(directory, KEY)).toMatchObject({ reason: expect.stringMatching(reason) });
  });

  test("a record that others may read or write", async () => {
    for (const mode of [0o640, 0o604, 0o620, 0o602]) {
      await put(text, mode);
      expect(await loadProof(directory, KEY)).toMatchObject({ reason: expect.stringMatching(/mode/) });
    }
  });

  test("a link, and a folder", async () => {
    await put(text);
    const target = `${proofPath(directory, KEY)}.target`;
    await writeFile(target, text, { mode: 0o600 });
    await rm(proofPath(directory, KEY));
    await symlink(target, proofPath(directory, KEY));
    expect(await loadProof(directory, KEY)).toMatchObject({ reason: expect.stringMatching(/regular file/) });
    await rm(proofPath(directory, KEY));
    await mkdir(proofPath(directory, KEY));
    expect(await loadProof(directory, KEY)).toMatchObject({ reason: expect.stringMatching(/regular file/) });
  });
});

test("a clock that was set back does not make a proof newer than it is", async () => {
  const { digest: _digest, ...open } = proof;
  await put(JSON.stringify(sealProof({ ...open, provedAt: new Date(Date.now() + 3_600_000).toISOString() })));
  await utimes(proofPath(directory, KEY), 0, 0);
  expect(await loadProof(directory, KEY)).toMatchObject({ reason: expect.stringMatching(/in the future/) });
});

describe("shipped", () => {
  test("proofs are found by what they are about, not by name", async () => {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "any-name.json"), JSON.stringify(proof), { mode: 0o644 });
    await chmod(join(directory, "any-name.json"), 0o644);
    expect((await loadShippedProof(KEY, directory)).proof).toEqual(proof);
    expect((await loadShippedProof({ ...KEY, matrix: "e".repeat(64) }, directory)).proof).toBeUndefined();
  });

  test("that others may write do not count", async () => {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "p.json"), JSON.stringify(proof));
    await chmod(join(directory, "p.json"), 0o666);
    expect((await loadShippedProof(KEY, directory)).proof).toBeUndefined();
  });
});

test("one prover a key at a time", async () => {
  const log: string[] = [];
  const prove = (name: string) => () =>
    withProofLock(directory, KEY, async () => {
      log.push(`${name} in`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      log.push(`${name} out`);
    });
  await Promise.all([prove("a")(), prove("b")()]);
  expect(log.map((line) => line.split(" ")[1])).toEqual(["in", "out", "in", "out"]);
  expect(await readFile(proofPath(directory, KEY), "utf8").catch(() => "absent")).toBe("absent");
});
