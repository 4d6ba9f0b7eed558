// What the file system does not let a run make is a refusal that names it, and agent_exit is told.

import { existsSync, readdirSync } from "node:fs";
import { type FileHandle, mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AgentHooksRefused, type SpawnOptions } from "../../src/index.ts";
import { readAllJournals } from "../journal/support.ts";
import * as fakes from "../testkit/support.ts";
import { leftovers, makePlace, type Place } from "./support.ts";

let place: Place;
let file: string;
beforeEach(async () => {
  place = await makePlace();
  file = join(place.home, "file");
  await writeFile(file, "");
  await mkdir(join(place.home, "tmp"));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await place.remove();
});

async function refuse(options: Partial<SpawnOptions>, provider: "claude" | "codex" = "claude") {
  const { starting, seen } = await fakes.start(place, {
    provider,
    script: { steps: [{ text: "x" }] },
    options: { baseEnv: { ...place.env, TMPDIR: join(place.home, "tmp") }, ...options },
  });
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AgentHooksRefused)) throw new Error(`expected a refusal, got ${String(error)}`);
  expect(error.runId).toBeDefined();
  expect(seen.exits).toEqual(["refused"]);
  expect(readdirSync(join(place.home, "tmp"))).toEqual([]);
  expect(await leftovers(place)).toEqual([]);
  expect(readAllJournals(place).map((lines) => lines.at(-1)?.outcome)).toEqual(["refused"]);
  return error.issues;
}

test("receipts that cannot be opened", async () => {
  const receiptsDir = join(file, "receipts");
  const issues = await refuse({ receiptSink: undefined as never, receiptsDir });
  expect(issues).toMatchObject([{ code: "receipts_unwritable", path: "receiptsDir" }]);
  expect(issues[0]?.message).toMatch(new RegExp(`${receiptsDir}/.*jsonl .*ENOTDIR`));
  expect(issues[0]?.hint).toContain("receiptSink");
});

test("a run directory that cannot be made", async () => {
  const issues = await refuse({ runDirParent: join(file, "run") });
  expect(issues).toMatchObject([{ code: "run_dir_unavailable", path: "runDirectory" }]);
  expect(issues[0]?.message).toMatch(new RegExp(`${file}.*ENOTDIR`));
});

test("a file of it that cannot be written", async () => {
  const handle = await open(process.execPath);
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const real = handles.writeFile;
  vi.spyOn(handles, "writeFile").mockImplementation(function (this: FileHandle, ...given) {
    // The journal's line and the shim's text go through; what is rendered for the agent does not.
    const isRendered = !/^(?:#!|\{"type":)/.test(String(given[0]));
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
      syscall: "write",
    });
    return isRendered ? Promise.reject(full) : real.apply(this, given);
  });
  const issues = await refuse({});
  expect(issues).toMatchObject([{ code: "run_dir_unavailable" }]);
  expect(issues[0]?.message).toMatch(/\/run\/[-0-9a-f]{36}\/.* ENOSPC/);
});

test("a temporary directory that cannot be made", async () => {
  const nowhere = join(place.home, "nowhere");
  const issues = await refuse({ env: { TMPDIR: nowhere } });
  expect(issues).toMatchObject([{ code: "run_dir_unavailable" }]);
  expect(issues[0]?.message).toMatch(new RegExp(`${nowhere}/bridle-.*ENOENT`));
  expect(issues[0]?.hint).toContain("TMPDIR");
});

test("a home of a session that is to be kept", async () => {
  const sessions = join(place.home, ".local", "state", "bridle", "sessions");
  await mkdir(join(sessions, ".."), { recursive: true });
  await writeFile(sessions, "");
  const issues = await refuse({ keepSession: true }, "codex");
  expect(issues).toMatchObject([{ code: "run_dir_unavailable" }]);
  expect(issues[0]?.message).toContain(sessions);
});

test("a temporary directory of the run's name that is there already is not taken", async () => {
  let taken = "";
  const { starting } = await fakes.start(place, {
    provider: "claude",
    script: { steps: [{ text: "x" }] },
    handlers: {
      agent_prompt: async ({ run_id: runId }) => {
        taken = join(place.home, "tmp", `bridle-${String(runId)}`);
        await mkdir(taken);
      },
    },
    options: { baseEnv: { ...place.env, TMPDIR: join(place.home, "tmp") } },
  });
  await expect(starting).rejects.toMatchObject({ issues: [{ code: "run_dir_unavailable" }] });
  expect(existsSync(taken)).toBe(true);
});
