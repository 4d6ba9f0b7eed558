// A record is there whole or not at all, whatever happens while it is written.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type FileHandle, mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ownerName } from "../../src/exec/owner-name.ts";
import { listRuns, recoverRuns } from "../../src/index.ts";
import { appendLine, beginJournal, journalPath, readJournal } from "../../src/journal/file.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import * as fakes from "../testkit/support.ts";
import { admittedLine, deadOwner } from "./lost-run.ts";
import { journalsOf, stateDirOf } from "./support.ts";

let linkFailure: string | undefined;
vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof import("node:fs/promises")>();
  return {
    ...real,
    link: (...given: Parameters<typeof real.link>) =>
      linkFailure === undefined
        ? real.link(...given)
        : Promise.reject(Object.assign(new Error(linkFailure), { code: linkFailure })),
  };
});

let place: Place;
let handles: FileHandle;
beforeEach(async () => {
  place = await makePlace();
  linkFailure = undefined;
  const file = await open(process.execPath);
  handles = Object.getPrototypeOf(file) as FileHandle;
  await file.close();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await place.remove();
});

const create = async (runId = "r1") => {
  const journal = await (await beginJournal(stateDirOf(place), runId, admittedLine(place, runId))).name();
  await journal.sync();
  await journal.close();
};
const names = () => readdirSync(journalsOf(place));
const read = async () => (await readJournal(journalPath(stateDirOf(place), "r1")))?.record;
const diskFull = () => Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

describe("an open record", () => {
  const open = async () => (await beginJournal(stateDirOf(place), "r1", admittedLine(place, "r1"))).name();
  const line = { type: "exit_started", at: new Date().toISOString(), by: "supervisor" } as const;

  test("brings its lines to the disk when it is asked to, once, and not those that are there", async () => {
    const journal = await open();
    const datasync = vi.spyOn(handles, "datasync");
    await journal.sync();
    expect(datasync).toHaveBeenCalledTimes(0);
    await journal.append(line);
    await Promise.all([journal.sync(), journal.sync()]);
    expect(datasync).toHaveBeenCalledTimes(1);
    await journal.close();
    expect(await read()).toMatchObject({ isExitStarted: true });
    expect(names()).toEqual(["r1.jsonl"]);
  });

  test("tells everybody who asked that the disk did not take it", async () => {
    const journal = await open();
    vi.spyOn(handles, "datasync").mockRejectedValueOnce(diskFull());
    await journal.append(line);
    for (const asked of await Promise.allSettled([journal.sync(), journal.sync()]))
      expect(asked).toMatchObject({ status: "rejected", reason: { code: "ENOSPC" } });
    await journal.close();
  });

  test("that is closed at once has its name alone", async () => {
    await (await open()).close();
    expect(names()).toEqual(["r1.jsonl"]);
  });

  test("that is discarded before it has its name leaves nothing", async () => {
    const begun = await beginJournal(stateDirOf(place), "r1", admittedLine(place, "r1"));
    expect(names()).toEqual([`r1.${ownerName()}.new`]);
    await begun.discard();
    expect(names()).toEqual([]);
  });
});

describe("a new record", () => {
  test("is the only file, and readable", async () => {
    await create();
    expect(names()).toEqual(["r1.jsonl"]);
    expect(await read()).toMatchObject({ admitted: { runId: "r1" } });
  });

  test.each(["writeFile", "datasync"] as const)("whose %s fails leaves nothing", async (step) => {
    vi.spyOn(handles, step).mockRejectedValueOnce(diskFull());
    await expect(create()).rejects.toMatchObject({ code: "ENOSPC" });
    expect(names()).toEqual([]);
  });

  test("has no name before it is written", async () => {
    let then: string[] = [];
    vi.spyOn(handles, "datasync").mockImplementationOnce(async () => {
      then = names();
    });
    await create();
    expect(then).toEqual([`r1.${ownerName()}.new`]);
  });

  test.each([undefined, "EPERM", "ENOTSUP"])("never takes another's place (link: %s)", async (failure) => {
    await create();
    const before = readFileSync(journalPath(stateDirOf(place), "r1"), "utf8");
    linkFailure = failure;
    await expect(create()).rejects.toMatchObject({ code: "EEXIST" });
    expect(names()).toEqual(["r1.jsonl"]);
    expect(readFileSync(journalPath(stateDirOf(place), "r1"), "utf8")).toBe(before);
  });

  test("is made on a file system without hard links", async () => {
    linkFailure = "EPERM";
    await create();
    expect(names()).toEqual(["r1.jsonl"]);
  });

  test("that cannot be written on a full disk is a warning, and no record", async () => {
    vi.spyOn(handles, "datasync").mockRejectedValueOnce(diskFull());
    const { result } = await fakes.play(place, { provider: "claude", script: { steps: [{ text: "x" }] } });
    expect(result).toMatchObject({ outcome: "success" });
    expect(result.warnings).toContainEqual({
      code: "journal_unavailable",
      message: expect.stringContaining("ENOSPC"),
    });
    expect(names().filter((name) => name.includes(result.runId))).toEqual([]);
  });
});

describe("a line", () => {
  test("that fits in part is taken back", async () => {
    await create();
    const real = handles.write;
    vi.spyOn(handles, "write").mockImplementationOnce(function (this: FileHandle, bytes: unknown) {
      return real.call(this, (bytes as Buffer).subarray(0, 10) as never) as never;
    });
    const line = { type: "exit_started", at: new Date().toISOString(), by: "supervisor" } as const;
    await expect(appendLine(stateDirOf(place), "r1", line, { durable: true })).rejects.toThrow("in part");
    expect(await read()).toMatchObject({ isExitStarted: false });
    await appendLine(stateDirOf(place), "r1", line, { durable: true });
    expect(await read()).toMatchObject({ isExitStarted: true });
  });
});

describe("what a killed program had begun", () => {
  const begin = async (owner: string) => {
    await mkdir(journalsOf(place), { recursive: true, mode: 0o700 });
    const path = join(journalsOf(place), `r1.${owner}.new`);
    await writeFile(path, "");
    return path;
  };

  test("is no run, and goes with the next recovery", async () => {
    const path = await begin(deadOwner());
    expect(await listRuns({ all: true, stateDir: stateDirOf(place) })).toEqual([]);
    expect(await recoverRuns({ stateDir: stateDirOf(place), env: place.env })).toEqual([]);
    expect(existsSync(path)).toBe(false);
  });

  test("stays while its writer lives", async () => {
    const path = await begin(ownerName());
    expect(await recoverRuns({ stateDir: stateDirOf(place), env: place.env })).toEqual([]);
    expect(existsSync(path)).toBe(true);
  });
});
