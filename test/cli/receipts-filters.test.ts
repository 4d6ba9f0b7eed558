// The filters of bridle receipts: what they mean, for a file and for a store alike, and what they refuse.

import { Command, CommanderError } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry } from "../../src/cli/receipts/entry.ts";
import { addFilterOptions, checkPeriod, type Filters, isMeant } from "../../src/cli/receipts/filters.ts";
import { openSource } from "../../src/cli/receipts/source.ts";
import { createJsonlStore } from "../../src/index.ts";
import { receipt } from "../store/support.ts";
import { at, type Desk, makeDesk } from "./receipts-support.ts";

let desk: Desk;
const paths: string[] = [];
beforeAll(async () => {
  desk = await makeDesk();
  for (const of of ["jsonl", "sqlite"] as const) paths.push(await desk.writeHost(of));
});
afterAll(() => desk.remove());

function parse(args: readonly string[]): Filters {
  const command = addFilterOptions(new Command("x"), { limited: "" })
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  command.parse([...args], { from: "user" });
  checkPeriod(command, command.opts());
  return command.opts();
}

async function idsIn(path: string, filters: Filters): Promise<string[]> {
  const source = await openSource(path);
  const found: Entry[] = [];
  for await (const entry of source.entries(filters)) if (isMeant(entry, filters)) found.push(entry);
  source.close();
  return found.map(({ line }) => (line as { id: string }).id);
}

const HOOK = "PreToolUse[0].hooks[0]";

describe("filters", () => {
  test.each([
    [[], [HOOK, "h1", "h2", "h3"]],
    [
      ["--event", "PreToolUse"],
      [HOOK, "h1", "h2", "h3"],
    ],
    [["--event", "Stop"], []],
    [
      ["--hook", HOOK],
      [HOOK, "h1", "h2", "h3"],
    ],
    [["--hook", "PreToolUse"], []],
    [["--decision", "deny"], ["h2"]],
    [["--status", "failed"], ["h3"]],
    [["--tool", "Bash"], ["h1"]],
    [["--session", "session-2"], ["h3"]],
    [
      ["--owner", "tenant-1"],
      [HOOK, "h1", "h2", "h3"],
    ],
    [["--owner", "nobody"], []],
    [
      ["--since", at(2)],
      ["h2", "h3"],
    ],
    [
      ["--since", "2026-07-01T10:00:02"],
      ["h2", "h3"],
    ],
    [
      ["--since", "2026-07-01T12:00:02+02:00"],
      ["h2", "h3"],
    ],
    [
      ["--until", at(1)],
      [HOOK, "h1"],
    ],
    [["--until", "2026-07-01"], []],
    [["--decision", "none", "--status", "failed"], ["h3"]],
  ] as [string[], string[]][])("%j leaves %j, of a file and of a store", async (args, ids) => {
    const filters = parse(args);
    expect(await Promise.all(paths.map((path) => idsIn(path, filters)))).toEqual([ids, ids]);
  });

  test("ask a store for no more than what is meant", async () => {
    const source = await openSource(paths[1]);
    const found: string[] = [];
    for await (const { line } of source.entries(
      parse(["--decision", "deny", "--hook", HOOK, "--since", at(1)]),
    ))
      found.push((line as { id: string }).id);
    source.close();
    expect(found).toEqual([HOOK, "h2"]);
  });

  test.each([
    ["90s", ["new"]],
    ["30m", ["new"]],
    ["1h", ["new"]],
    ["3d", ["day", "new"]],
    ["2w", ["week", "day", "new"]],
  ])("--since %s is so long ago", async (since, ids) => {
    const path = `${desk.path}/ago-${since}.jsonl`;
    const store = createJsonlStore({ path });
    for (const [id, ago] of [
      ["old", 20 * 86_400_000],
      ["week", 8 * 86_400_000],
      ["day", 86_400_000],
      ["new", 0],
    ] as const)
      store.write(receipt({ id, started_at: new Date(Date.now() - ago).toISOString() }));
    store.close();
    expect(await idsIn(path, parse(["--since", since]))).toEqual(ids);
  });

  test("--limit is a number", () => {
    expect(parse(["--limit", "12"])).toEqual({ limit: 12 });
  });

  test.each([
    ["--event", "PreTool"],
    ["--decision", "denied"],
    ["--status", "error"],
    ["--since", "yesterday"],
    ["--since", "2026-02-30"],
    ["--since", "99999999999w"],
    ["--until", "5"],
    ["--limit", "0"],
    ["--limit", "1e3"],
    ["--hook", ""],
  ])("%s %s is a usage error that names the value", (option, value) => {
    expect(() => parse([option, value])).toThrow(CommanderError);
    expect(() => parse([option, value])).toThrow(`'${value}'`);
  });

  test("a period that ends before it begins is a usage error", () => {
    expect(() => parse(["--since", at(2), "--until", at(1)])).toThrow(
      `--since ${at(2)} is later than --until ${at(1)}`,
    );
    expect(parse(["--since", at(1), "--until", at(1)])).toEqual({ since: at(1), until: at(1) });
  });
});

test("a bad value ends the command with 64 and the value on stderr, before anything is read", async () => {
  expect(await desk.bridle("list", "--decision", "denied", "--from", "none")).toMatchObject({
    code: 64,
    stdout: "",
    stderr: expect.stringContaining("'denied'"),
  });
});

test("--limit leaves the first lines, and of a list the latest rows", async () => {
  const { stdout } = await desk.bridle("export", "--from", paths[0] ?? "", "--limit", "2");
  expect(stdout.split("\n")).toHaveLength(3);
  expect(stdout).toMatch(/^\{"kind":"hook".*\n\{"kind":"execution","id":"h1"/);
  const listed = await desk.bridle("list", "--from", paths[1] ?? "", "--limit", "1", "--json");
  expect(JSON.parse(listed.stdout).runs).toEqual([expect.objectContaining({ session_id: "session-2" })]);
});
