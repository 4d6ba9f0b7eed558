import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { richRun, runIdOf, toLines } from "../report/support.ts";
import { type Desk, MAIN, makeDesk } from "./receipts-support.ts";

const RUN = runIdOf(1);
let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
  mkdirSync(desk.runs, { recursive: true });
  const text = toLines(RUN, richRun()).join("\n");
  writeFileSync(join(desk.runs, `${RUN}.jsonl`), `${text}\n`);
});
afterEach(() => desk.remove());

const report = (...args: string[]) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      [MAIN, "report", ...args],
      { env: { ...desk.env, PATH: join(desk.path, "bin") }, cwd: desk.path },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

test("writes a file of this user alone beside where it is called, and again over its own", async () => {
  const path = join(desk.path, `bridle-report-${RUN}.html`);
  for (const words of [[RUN], [RUN.slice(0, 10)], [join(desk.runs, `${RUN}.jsonl`)]]) {
    expect(await report(...words)).toEqual({ code: 0, stdout: `${path}\n`, stderr: "" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).toContain("rm -rf / would remove everything");
  }
  const { stdout } = await report(RUN, "--json", "--out", "other.html");
  expect(JSON.parse(stdout)).toEqual({
    type: "report",
    of: "run",
    id: RUN,
    path: join(desk.path, "other.html"),
  });
});

test("never writes over what is not its own, unless it is told to", async () => {
  const path = join(desk.path, "mine.html");
  writeFileSync(path, "<p>mine</p>");
  const refused = await report(RUN, "--out", path);
  expect([refused.code, refused.stderr]).toEqual([78, expect.stringContaining("is there already")]);
  expect(readFileSync(path, "utf8")).toBe("<p>mine</p>");
  const link = join(desk.path, "link.html");
  symlinkSync(path, link);
  expect((await report(RUN, "--out", link)).code).toBe(78);
  expect((await report(RUN, "--out", path, "--force")).code).toBe(0);
  expect(readFileSync(path, "utf8")).toMatch(/^<!doctype html>/);
});

test("never writes over receipts, whatever it is told", async () => {
  const path = join(desk.runs, `${RUN}.jsonl`);
  const before = readFileSync(path, "utf8");
  const { code, stderr } = await report(RUN, "--out", path, "--force");
  expect([code, stderr]).toEqual([78, expect.stringContaining("holds receipts")]);
  expect(readFileSync(path, "utf8")).toBe(before);
});

test("--open starts the system's opener with the file; without one that is told, and the file is there", async () => {
  const path = join(desk.path, `bridle-report-${RUN}.html`);
  const without = await report(RUN, "--open");
  expect([without.code, without.stderr]).toEqual([0, expect.stringContaining("not opened")]);
  expect(existsSync(path)).toBe(true);
  mkdirSync(join(desk.path, "bin"));
  writeFileSync(
    join(desk.path, "bin", "xdg-open"),
    `#!/bin/sh\necho "$1" > ${join(desk.path, "opened.new")}\n/bin/mv ${join(desk.path, "opened.new")} ${join(desk.path, "opened")}\n`,
    { mode: 0o755 },
  );
  await report(RUN, "--open");
  await expect.poll(() => existsSync(join(desk.path, "opened")), { timeout: 20_000 }).toBe(true);
  expect(readFileSync(join(desk.path, "opened"), "utf8")).toBe(`file://${path}\n`);
});

test("what names nothing is refused", async () => {
  const { code, stderr } = await report("nobody");
  expect([code, stderr]).toEqual([78, expect.stringContaining("names no run with receipts, and no fan-out")]);
});
