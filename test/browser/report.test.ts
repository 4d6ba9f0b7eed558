// Reports as a browser shows them: painted where they should be, in both schemes, at 400 px, by keyboard, and without asking anybody for anything.

import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PNG } from "pngjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COLOURS } from "../../src/report/colours.ts";
import { createReport } from "../../src/report/report.ts";
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
} from "../report/support.ts";
import { type Browser, findChromium, startBrowser } from "./chromium.ts";

let folder: string;
let browser: Browser;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-browser-"));
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

function place(name: string, html: string): string {
  const path = join(folder, `${name}.html`);
  writeFileSync(path, html);
  return pathToFileURL(path).href;
}

let made = 0;
async function runPage(timed: readonly Timed[]): Promise<string> {
  made += 1;
  const runId = runIdOf(5_000 + made);
  mkdirSync(join(folder, "receipts"), { recursive: true });
  const lines = toLines(runId, timed).map((line) => `${line}\n`);
  writeFileSync(join(folder, "receipts", `${runId}.jsonl`), lines.join(""));
  return (await createReport(runId, { stateDir: folder })).html;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const boxesOf = (selector: string) =>
  browser.evaluate<Box[]>(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      return { x: x + scrollX, y: y + scrollY, width, height };
    })`,
  );

function colourAt(png: PNG, x: number, y: number): string {
  const at = (Math.round(y) * png.width + Math.round(x)) * 4;
  return `#${png.data.subarray(at, at + 3).toString("hex")}`;
}
const middleOf = ({ x, y, width, height }: Box): [number, number] => [x + width / 2, y + height / 2];

describe.each(["light", "dark"] as const)("in the %s scheme", (scheme) => {
  const bad = COLOURS.bad[scheme];

  test("the background, the sheet and the marks of denials are painted in its colours, at their times", async () => {
    await browser.open(place("run", await runPage(richRun())), { width: 1200, scheme });
    const png = await browser.screenshot();
    expect(png.width).toBe(1200);
    expect(png.height).toBeGreaterThan(1500);
    expect(colourAt(png, 4, 4)).toBe(COLOURS.paper[scheme]);
    const [section] = await boxesOf("#outcome");
    expect(colourAt(png, (section as Box).x + 10, (section as Box).y + 10)).toBe(COLOURS.sheet[scheme]);

    const [timeline] = await boxesOf("svg.timeline");
    const { x: left, width } = timeline as Box;
    const marks = await boxesOf('svg.timeline [data-mark="bad"] path');
    // 15 and 45 of 60 seconds.
    for (const [index, share] of [0.25, 0.75].entries()) {
      const [x, y] = middleOf(marks[index] as Box);
      expect(Math.abs(x - (left + width * share))).toBeLessThan(2);
      expect(colourAt(png, x, y)).toBe(bad);
      expect(colourAt(png, x + 14, y)).toBe(COLOURS.track[scheme]);
    }
    expect(marks).toHaveLength(2);
    const [fault] = await boxesOf('svg.timeline [data-mark="care"] path');
    const [x, y] = middleOf(fault as Box);
    expect(Math.abs(x - (left + (width * 52) / 60))).toBeLessThan(2);
    expect(colourAt(png, x, y + 2)).toBe(COLOURS.care[scheme]);
  });

  test("the bars of tools are as long as the tools took", async () => {
    await browser.open(place("run", await runPage(richRun())), { width: 1200, scheme });
    const png = await browser.screenshot();
    const [timeline] = await boxesOf("svg.timeline");
    const { x: left, width } = timeline as Box;
    const [bar] = await boxesOf("svg.timeline rect.f-work");
    const [, y] = middleOf(bar as Box);
    const at = (seconds: number) => colourAt(png, left + (width * seconds) / 60, y);
    expect([at(4.4), at(8), at(10.8)]).toEqual(Array(3).fill(COLOURS.work[scheme]));
    expect([at(3.5), at(11.6)]).toEqual(Array(2).fill(COLOURS.track[scheme]));
  });

  test("a fan-out has a bar an attempt, at its time, in the colour of its outcome", async () => {
    const { html } = await makeFanOutPage(join(folder, `fan-${scheme}`), { tasks: 12, denied: [3, 6, 9] });
    await browser.open(place("fan", html), { width: 1200, scheme });
    const png = await browser.screenshot();
    const total = 11 * 2 + 10;
    for (const [index, tone] of [
      [0, "good"],
      [2, "bad"],
      [4, "care"],
      [11, "good"],
    ] as const) {
      const [row] = await boxesOf(`svg[data-task="task-${index}"]`);
      const { x: left, width, y, height } = row as Box;
      const at = (seconds: number) => colourAt(png, left + (width * seconds) / total, y + height / 2);
      expect(at(index * 2 + 5), `task ${index}`).toBe(COLOURS[tone][scheme]);
      if (index < 11) expect(at(index * 2 + 10.9), `behind task ${index}`).toBe(COLOURS.sheet[scheme]);
    }
    const marks = await boxesOf('.gantt [data-mark="bad"] path');
    expect(marks).toHaveLength(3);
    for (const mark of marks) expect(colourAt(png, ...middleOf(mark))).toBe(bad);
    const [success] = await boxesOf('svg[data-outcome="success"]');
    const share = (seconds: number) =>
      colourAt(png, (success as Box).x + (success as Box).width * seconds, (success as Box).y + 7);
    // 8 of 12.
    expect([share(0.6), share(0.75)]).toEqual([COLOURS.good[scheme], COLOURS.track[scheme]]);
  });
});

const LONG = "x".repeat(2_000);
const HOSTILE: Timed[] = [
  [0, started({ cwd: `/${LONG}`, provider_version: LONG.slice(0, 300) })],
  ...callLines({ at: 10, call: 1, tool: LONG, decision: "deny", reason: LONG, hook: LONG, failed: LONG }),
  ...toolLines(20, 5, LONG, LONG),
  [30, { kind: "fault", fault: LONG, event: LONG, detail: LONG }],
  [60, ended(60, { reason: LONG })],
];

describe("at 400 px", () => {
  test.each(["run", "fan-out", "hostile run"])("a %s does not overflow", async (what) => {
    const html =
      what === "run"
        ? await runPage(richRun())
        : what === "fan-out"
          ? (
              await makeFanOutPage(join(folder, "narrow"), {
                tasks: 12,
                denied: [3],
                names: (index) => `${LONG}${index}`,
              })
            ).html
          : await runPage(HOSTILE);
    await browser.open(place("narrow", html), { width: 400, scheme: "light" });
    await browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    expect(await browser.evaluate("document.documentElement.scrollWidth")).toBe(400);
    // What is wider scrolls in itself, and can be reached with the keyboard.
    const wide = await browser.evaluate<{ tag: string; isReachable: boolean }[]>(
      `[...document.querySelectorAll("main *")].filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto")
        .map((one) => ({ tag: one.className, isReachable: one.tabIndex === 0 && one.getAttribute("aria-label") !== null }))`,
    );
    for (const one of wide) expect(one).toEqual({ tag: "scroll", isReachable: true });
    const outside = await browser.evaluate<number>(
      `[...document.querySelectorAll("h1, h2, p, dd, summary, .rows li > *, nav a")].filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > 400.5).length`,
    );
    expect(outside).toBe(0);
  });
});

describe("by keyboard", () => {
  const focused = () =>
    browser.evaluate<string>(
      `(() => { const one = document.activeElement; return one === document.body ? "body" : (one.getAttribute("aria-label") ?? one.textContent).trim(); })()`,
    );

  test("the skip link comes first and is seen, then the sections, then the denials, in the order of the page", async () => {
    await browser.open(place("keys", await runPage(richRun())), { width: 1200, scheme: "light" });
    const names: string[] = [];
    const positions: number[] = [];
    for (let step = 0; step < 60; step += 1) {
      await browser.press("Tab");
      const name = await focused();
      if (name === "body") break;
      names.push(name);
      positions.push(
        await browser.evaluate("Math.round(document.activeElement.getBoundingClientRect().top + scrollY)"),
      );
      if (step === 0) {
        const [box] = await boxesOf(".skip");
        expect((box as Box).x).toBeGreaterThanOrEqual(0);
      }
      const outline = await browser.evaluate<string>(
        `(() => { const one = document.activeElement; const shape = one.querySelector?.("svg a .ring, .ring") ?? one; const style = getComputedStyle(one.closest("svg") ? shape : one);
          return one.closest("svg") ? style.stroke : style.outlineStyle + " " + parseFloat(style.outlineWidth); })()`,
      );
      expect(outline, name).toMatch(/^solid 3$|^rgb/);
    }
    expect(names.slice(0, 7)).toEqual([
      "Skip to the content",
      "Outcome",
      "Denied",
      "Timeline",
      "Hooks",
      "Faults and warnings",
      "Receipts",
    ]);
    const denied = names.flatMap((name, index) => (name.startsWith("Denied: ") ? [index] : []));
    expect(denied).toHaveLength(2);
    expect(names.indexOf("Turns and tool calls as tables")).toBeGreaterThan(denied[1] as number);
    const inMain = positions.slice(9).filter((_, index) => !names[index + 9]?.startsWith("Denied: "));
    expect(inMain).toEqual([...inMain].sort((one, other) => one - other));
  });

  test("Enter opens what is closed, and follows a mark to its denial", async () => {
    await browser.open(place("keys", await runPage(richRun())), { width: 1200, scheme: "light" });
    const stepTo = async (wanted: string) => {
      for (let step = 0; step < 60; step += 1) {
        await browser.press("Tab");
        if ((await focused()).startsWith(wanted)) return;
      }
      throw new Error(`${wanted} cannot be reached`);
    };
    await stepTo("Denied: Bash");
    await browser.press("Enter");
    expect(await browser.evaluate("location.hash")).toBe("#denied-1");
    await stepTo("Turns and tool calls");
    await browser.press("Enter");
    expect(await browser.evaluate("document.querySelector('#timeline details').open")).toBe(true);
  });
});

describe("the network", () => {
  test("nothing but the page itself is asked for, from the disk and from a server, and nothing is complained of", async () => {
    const { html: fan } = await makeFanOutPage(join(folder, "net"), { tasks: 5, denied: [3] });
    const pages: Record<string, string> = {
      "/run": await runPage(richRun()),
      "/odd": await runPage(HOSTILE),
      "/fan": fan,
    };
    const seen: string[] = [];
    const server: Server = createServer((request, response) => {
      seen.push(request.url ?? "");
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(pages[request.url ?? ""] ?? "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      for (const path of Object.keys(pages)) {
        await browser.open(`http://127.0.0.1:${port}${path}`, { width: 1200, scheme: "light" });
        await browser.screenshot();
        expect(browser.requests.filter((address) => address !== "data:,")).toEqual([
          `http://127.0.0.1:${port}${path}`,
        ]);
        expect(browser.complaints).toEqual([]);
      }
      expect(seen).toEqual(Object.keys(pages));
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test("the policy holds: a script and an image that somebody adds to the file do nothing", async () => {
    const html = (await runPage(richRun())).replace(
      "<main",
      `<script>document.title = "ran"</script><img src="http://127.0.0.1:9/pixel"><main`,
    );
    await browser.open(place("policy", html), { width: 1200, scheme: "light" });
    expect(await browser.evaluate("document.title")).toMatch(/^Run /);
    expect(await browser.evaluate("document.querySelector('img').naturalWidth")).toBe(0);
    expect(browser.complaints.join("\n")).toMatch(/Content Security Policy/);
  });
});

test("ten thousand receipts are laid out and painted", async () => {
  const lines: Timed[] = [[0, started()]];
  for (let call = 1; call <= 3_400; call += 1)
    lines.push(...callLines({ at: call * 100, call, decision: call % 100 === 0 ? "deny" : "none" }));
  lines.push([400_000, ended(400_000)]);
  await browser.open(place("many", await runPage(lines)), { width: 1200, scheme: "light" });
  const png = await browser.screenshot();
  const marks = await boxesOf('svg.timeline [data-mark="bad"] path');
  expect(marks).toHaveLength(34);
  for (const mark of marks) expect(colourAt(png, ...middleOf(mark))).toBe(COLOURS.bad.light);
  expect(await browser.evaluate("document.querySelectorAll('*').length")).toBeLessThan(60_000);
});

test("without chromium on PATH it is said what is missing", () => {
  expect(() => findChromium(folder)).toThrow(/no chromium on PATH .*apt-get install chromium/);
});
