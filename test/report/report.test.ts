import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createReport } from "../../src/index.ts";
import { RUNS_SHOWN } from "../../src/report/fan-out-page.ts";
import {
  callLines,
  ended,
  makeFanOutPage,
  richRun,
  runIdOf,
  started,
  type Timed,
  toLines,
  toolLines,
} from "./support.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-report-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let last = 0;
/** A page of a run with these lines, by way of a file in a state directory. */
async function pageOf(timed: readonly Timed[], edit: (lines: string[]) => string[] = (lines) => lines) {
  last += 1;
  const runId = runIdOf(1000 + last);
  const receipts = join(folder, "receipts");
  mkdirSync(receipts, { recursive: true });
  const path = join(receipts, `${runId}.jsonl`);
  writeFileSync(
    path,
    edit(toLines(runId, timed))
      .map((line) => `${line}\n`)
      .join(""),
  );
  const report = await createReport(runId, { stateDir: folder });
  return { ...report, path };
}

const textOf = (html: string) =>
  html
    .replace(/<(style|title)>.*?<\/\1>/gs, "")
    .replace(/<[^>]*>/g, " ")
    .replaceAll("\u00a0", " ")
    .replace(/\s+/g, " ");
const idsIn = (html: string) => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
const linksIn = (html: string) => [...html.matchAll(/ href="([^"]+)"/g)].map(([, href]) => href as string);

describe("the page of a run", () => {
  test("says outcome, denials with reasons, hooks with verdicts and times, extinction, integrity", async () => {
    const { of, html } = await pageOf(richRun());
    expect(of).toBe("run");
    const text = textOf(html);
    for (const said of [
      "success",
      "1 min 00 s",
      "rm -rf / would remove everything: name a folder",
      "PreToolUse #3, 15.0 s after the start",
      "failed, denied",
      "hook_failed: exit 1: no such file",
      "900 ms",
      "proven",
      "the namespace was seen empty",
      "Every line is as it was written",
      "call 6: nobody waited any more",
      "Turns (2)",
      "Tools (4)",
      "Hooks (5)",
      "Denied (2), faults (1)",
    ])
      expect(text).toContain(said);
  });

  test("has no script, no style but its sheet, and no address outside itself", async () => {
    const { html } = await pageOf(richRun());
    expect(html).not.toMatch(/<script|javascript:|https?:|url\(|@import| style=| on\w+=/i);
    expect(html).toMatch(/Content-Security-Policy" content="default-src 'none'; style-src 'sha256-/);
    const links = linksIn(html);
    for (const href of links.filter((one) => one !== "data:,"))
      expect(idsIn(html), href).toContain(href.replace(/^#/, ""));
    expect(links.filter((one) => !one.startsWith("#"))).toEqual(["data:,"]);
  });

  test("has each id once, and names for whom it cannot be seen", async () => {
    const { html } = await pageOf(richRun());
    const ids = idsIn(html);
    expect(new Set(ids).size).toBe(ids.length);
    expect(html).toContain('<html lang="en">');
    expect(html.match(/<h1>/g)).toHaveLength(1);
    for (const [table = ""] of html.matchAll(/<table>.*?<\/table>/gs)) {
      expect(table).toMatch(/<caption[^>]*>[^<]+<\/caption>/);
      expect(table).toMatch(/<th scope="col"/);
    }
    expect(html).toMatch(/<svg class="timeline" role="group" aria-label="Timeline of [^"]+"/);
    for (const [, label] of html.matchAll(/<a href="#denied-\d+" aria-label="([^"]*)"/g))
      expect(label).toMatch(/^Denied: /);
  });

  test("what a model or a guard says stays text, and is seen", async () => {
    const evil = `</title><script>alert(1)</script>"'><img src=x onerror=alert(1)>\u202edlrow\u0000`;
    const { html } = await pageOf([
      [0, started({ cwd: evil, provider_version: evil })],
      ...callLines({ at: 10, call: 1, tool: evil, decision: "deny", reason: evil, hook: evil, failed: evil }),
      ...toolLines(20, 5, evil, evil),
      [30, { kind: "fault", fault: evil, event: evil, detail: evil }],
      [40, { kind: "turn", turn: 1, state: "started" }],
      [50, { kind: "turn", turn: 1, state: "ended", status: evil }],
      [60, ended(60, { outcome: evil, reason: evil, extinction: evil, signal: evil })],
    ]);
    for (const part of ["<script", "<img", "\u202e", "\u0000"]) expect(html).not.toContain(part);
    expect(html.match(/<\/title>/g)?.length).toBe(html.match(/<title>/g)?.length);
    expect(textOf(html)).toContain("&lt;img src=x onerror=alert(1)&gt;\\u202edlrow\\u0000");
  });

  test("fields that are not what they should be are passed over", async () => {
    const odd = { at: 5, kind: "verdict", event: 7, call: "x", decision: {}, reason: [], duration_ms: "<b>" };
    const hook = { kind: "hook", event: "Stop", call: 1, hook: null, notes: "none", duration_ms: null };
    const end = { kind: "attested", events: [null, 3, { event: 1 }], canary: 3 };
    const { html } = await pageOf([
      [0, started()],
      [1, odd as never],
      [2, hook as never],
      [3, end as never],
      [4, { kind: "tool_ended", denied: false, failed: false }],
      [5, { kind: "newer_kind", words: "<b>" } as never],
    ]);
    expect(textOf(html)).toContain("no end");
    expect(html).not.toContain("<b>");
  });

  test("receipts that were changed are told on top", async () => {
    const { html } = await pageOf(richRun(), (lines) =>
      lines.with(8, (lines[8] as string).replace("none", "deny")),
    );
    expect(textOf(html)).toMatch(/Receipts broken \d+ lines/);
    expect(textOf(html)).toContain("Nothing on this page can be relied on");
  });

  test("ten thousand receipts: some megabytes, few marks, all rows in closed parts, and each denial counted", async () => {
    const lines: Timed[] = [[0, started()]];
    for (let call = 1; call <= 3_400; call += 1)
      lines.push(...callLines({ at: call * 100, call, decision: call % 40 === 0 ? "deny" : "none" }));
    lines.push([400_000, ended(400_000)]);
    const { html } = await pageOf(lines);
    expect(html.length).toBeLessThan(4_000_000);
    expect(html.match(/<rect class="bar/g)?.length).toBeLessThan(1_000);
    expect(html.match(/data-mark="bad"/g)).toHaveLength(85);
    expect(html.match(/<summary>\d+ hook runs, \d+ to \d+<\/summary>/g)).toHaveLength(13);
    expect(html.match(/PreToolUse #3400</g)?.length).toBeGreaterThan(0);
    expect(textOf(html)).toContain("3400 hook runs");
  });
});

describe("what is named", () => {
  test("by the beginning of an id, and by a file", async () => {
    const { id, path } = await pageOf(richRun());
    expect((await createReport(path, { stateDir: "/nowhere" })).id).toBe(id);
    await pageOf(richRun());
    await expect(createReport(id.slice(0, 20), { stateDir: folder })).rejects.toMatchObject({
      issues: [{ code: "option_invalid", path: "what", message: expect.stringContaining("names") }],
    });
  });

  test.each([["nobody"], [""], [7]])("%j is refused", async (what) => {
    await expect(createReport(what as string, { stateDir: folder })).rejects.toMatchObject({
      name: "AgentHooksRefused",
    });
  });

  test("a file with several runs, or with none, is refused", async () => {
    const two = join(folder, "two.jsonl");
    writeFileSync(two, [...toLines("a", [[0, started()]]), ...toLines("b", [[0, started()]])].join("\n"));
    await expect(createReport(two)).rejects.toMatchObject({
      issues: [{ message: expect.stringContaining("several runs") }],
    });
    writeFileSync(two, "");
    await expect(createReport(two)).rejects.toMatchObject({
      issues: [{ message: expect.stringContaining("no receipts of a run") }],
    });
  });
});

describe("the page of a fan-out", () => {
  test("has outcomes, each attempt, denials by task, and leads to each run", async () => {
    const { html } = await makeFanOutPage(join(folder, "fan"), { tasks: 12, denied: [3, 6, 9] });
    const text = textOf(html);
    expect(text).toContain("12 tasks, 12 finished");
    expect(text).toContain("3 denials in 3 tasks");
    for (const said of [
      "no for task-3",
      "no for task-6",
      "no for task-9",
      "timed out",
      "unenforced",
      "skipped",
    ])
      expect(text).toContain(said);
    expect(html.match(/data-task="task-1"/g)).toHaveLength(2);
    const links = linksIn(html).filter((href) => href.startsWith("#"));
    expect(links).toContain(`#run-${runIdOf(3)}`);
    for (const href of links) expect(idsIn(html), href).toContain(href.slice(1));
    expect(new Set(idsIn(html)).size).toBe(idsIn(html).length);
  });

  test("of very many shows the runs that a reader looks for, and says so", async () => {
    const { html } = await makeFanOutPage(join(folder, "many"), { tasks: 150, denied: [140, 149] });
    expect(html.match(/<details class="run"/g)).toHaveLength(RUNS_SHOWN);
    for (const index of [2, 4, 6, 140, 149]) expect(html).toContain(`id="run-${runIdOf(index)}"`);
    expect(textOf(html)).toContain(`${RUNS_SHOWN} of 149 runs are here`);
    for (const href of linksIn(html).filter((one) => one.startsWith("#")))
      expect(idsIn(html)).toContain(href.slice(1));
  });

  test("names of tasks stay text", async () => {
    const { html } = await makeFanOutPage(join(folder, "odd"), {
      tasks: 3,
      denied: [1],
      names: (index) => `<img src=x>\u202e${index}`,
    });
    expect(html).not.toMatch(/<img|\u202e/);
    expect(html).toContain("&lt;img src=x&gt;\\u202e1");
  });
});

test("the mark that the command looks for is the one that pages have", () => {
  const command = readFileSync(new URL("../../src/cli/report.ts", import.meta.url), "utf8");
  const page = readFileSync(new URL("../../src/report/page.ts", import.meta.url), "utf8");
  const [, mark] = /GENERATOR = '([^']+)'/.exec(page) ?? [];
  expect(command).toContain(`'${mark}'`);
});
