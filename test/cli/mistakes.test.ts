// What a user can get wrong around a command, told in words.

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DIST, makeFolder } from "../store/support.ts";

let folder: Awaited<ReturnType<typeof makeFolder>>;
beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => folder.remove());

interface Ended {
  readonly code: number;
  readonly stderr: string;
}

const env = () => ({ PATH: process.env.PATH, HOME: folder.path, XDG_STATE_HOME: folder.path, NO_COLOR: "1" });

const bridle = (words: readonly string[]) =>
  new Promise<Ended>((resolve) => {
    execFile(
      process.execPath,
      [join(DIST, "cli", "main.js"), ...words],
      { env: env() },
      (error, _out, stderr) => resolve({ code: Number(error?.code ?? 0), stderr }),
    );
  });

describe("run --timeout", () => {
  test.each(["abc", "0", "-1", "", "NaN", "Infinity", "1e9"])(
    "%j is a usage error in seconds",
    async (value) => {
      const { code, stderr } = await bridle(["run", "claude", `--timeout=${value}`, "hello"]);
      expect(code).toBe(64);
      expect(stderr).toContain("'--timeout <seconds>'");
      expect(stderr).toContain("seconds, above 0 and at most 2147483");
    },
  );
});

test("a working directory that is not there any more is said so", async () => {
  const gone = join(folder.path, "gone");
  await mkdir(gone);
  const script = join(folder.path, "run.sh");
  await writeFile(script, 'cd "$1"; rmdir "$1"; shift; exec "$@"\n');
  const words = [script, gone, process.execPath, join(DIST, "cli", "main.js"), "list"];
  const ended = await new Promise<Ended>((resolve) => {
    execFile("/bin/sh", words, { env: env() }, (error, _out, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stderr }),
    );
  });
  expect(ended).toEqual({ code: 64, stderr: "bridle: the working directory is not there any more\n" });
});
