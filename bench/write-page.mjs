// Puts the tables of bench/results.json onto docs/PERFORMANCE.md, between the marks that name them, and what of them is said in words.
// `npm run bench` does it; `node bench/write-page.mjs` does it alone, from the results that are there.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { toMarkdown } from "./harness.mjs";

const PAGE = fileURLToPath(new URL("../docs/PERFORMANCE.md", import.meta.url));
const RESULTS = new URL("results.json", import.meta.url);
const BLOCK = /(<!-- measured: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

/**
 * The page with these results in it.
 * @param {string} page @param {object} data as in bench/results.json
 * @throws when the page has no place for a table, or a place for tables that there are not: none may go missing unseen
 */
export function renderPage(page, data) {
  const used = new Set();
  const text = page.replaceAll(BLOCK, (_block, start, name, end) => {
    used.add(name);
    return `${start}\n${renderBlock(name, data)}\n\n${end}`;
  });
  const left = [...new Set(data.results.map(({ name }) => name))].filter((name) => !used.has(name));
  if (left.length > 0) throw new Error(`docs/PERFORMANCE.md has no place for the tables ${left.join(", ")}`);
  return text;
}

function renderBlock(name, data) {
  if (name === "machine") return describeMachine(data);
  if (name === "promises") return listPromises(data);
  if (name === "guard-cost") return describeGuards(data);
  const tables = data.results.filter((table) => table.name === name);
  if (tables.length === 0) throw new Error(`bench/results.json has no tables ${name}`);
  return tables.map(toMarkdown).join("\n\n");
}

function describeMachine({ machine: on, results }) {
  const days = [...new Set(results.map(({ measuredAt }) => measuredAt.slice(0, 10)))].sort();
  const how = `Measured ${days.length === 1 ? days[0] : `${days[0]} to ${days.at(-1)}`} on ${on.cpu}, ${on.cores} cores, ${Math.round(on.memoryMiB / 1024)} GiB, ${on.platform}, Node ${on.node}.`;
  const busy = results.filter((table) => table.busy).length;
  if (busy === 0) return how;
  const which =
    busy === results.length ? "" : ` while ${busy} of ${results.length} tables were measured, which say so`;
  return `${how} **The machine was at work for others${which}: there the ratios are rough, times are too long, and no promise was judged.**`;
}

/** What each kind of hook adds to a tool call without any. */
function describeGuards({ results }) {
  const tables = results.filter(({ name }) => name === "guarded-call");
  if (tables.length === 0) throw new Error("bench/results.json has no tables guarded-call");
  return tables
    .map(({ title, rows }) => {
      const [none, ...hooks] = rows;
      const added = hooks.map(({ name, p50 }) => `${name} ${signed(p50 - none.p50)} ms`);
      return `- ${title}: ${none.name} ${none.p50.toFixed(1)} ms; ${added.join(", ")}.`;
    })
    .join("\n");
}

const signed = (value) => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(1)}`;

function listPromises({ results }) {
  const all = results.flatMap(({ checks, busy }) => checks.map((check) => ({ ...check, busy })));
  const broken = all.filter(({ holds, busy }) => !holds && !busy);
  const counted = `${all.length} promises were measured`;
  const open = all.filter(({ busy }) => busy).length;
  const judged = open === 0 ? counted : `${counted}, ${open} of them on a busy machine, where none is judged`;
  if (open === all.length) return `${judged}.`;
  if (broken.length === 0) return `${judged}; all${open === 0 ? "" : " others"} held.`;
  return `${judged}; ${broken.length} did not hold: ${broken.map(({ promise }) => promise).join("; ")}.`;
}

/** @param {object} data as in bench/results.json */
export function writePage(data) {
  writeFileSync(PAGE, renderPage(readFileSync(PAGE, "utf8"), data));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writePage(JSON.parse(readFileSync(RESULTS, "utf8")));
