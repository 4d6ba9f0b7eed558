// Reads a file of tasks: JSONL, YAML or CSV, by its ending. Tells every problem that it finds, with the line.

import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { AgentHooksRefused, type Issue, refuseIfAny } from "../errors.ts";
import { loadYaml } from "../packages.ts";
import { CsvInvalid, type CsvRow, parseCsv } from "./parse-csv.ts";
import { type PlacedTask, show } from "./task.ts";

const READERS: Readonly<Record<string, (text: string, name: string, issues: Issue[]) => PlacedTask[]>> = {
  ".jsonl": readJsonl,
  ".ndjson": readJsonl,
  ".yaml": readYaml,
  ".yml": readYaml,
  ".json": readYaml,
  ".csv": readCsv,
};

/** @throws AgentHooksRefused `option_invalid` with every line that cannot be read. */
export async function readTasks(path: string): Promise<PlacedTask[]> {
  const read = READERS[extname(path).toLowerCase()];
  const refuse = (message: string, hint: string, cause?: unknown) =>
    new AgentHooksRefused([{ code: "option_invalid", path, message, hint }], { cause });
  if (read === undefined)
    throw refuse(
      "it cannot be told what it is",
      `name it ${Object.keys(READERS)
        .map((it) => `*${it}`)
        .join(", ")}`,
    );
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw refuse(`cannot be read: ${(cause as Error).message}`, "name a file of tasks", cause);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw refuse("is no UTF-8", "save it as UTF-8", cause);
  }
  const issues: Issue[] = [];
  const tasks = read(text, basename(path), issues);
  refuseIfAny(issues);
  return tasks;
}

function problem(path: string, message: string): Issue {
  return { code: "option_invalid", path, message, hint: "see docs/FANOUT.md" };
}

function readJsonl(text: string, name: string, issues: Issue[]): PlacedTask[] {
  const tasks: PlacedTask[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .entries()) {
    if (line.trim() === "") continue;
    const place = `${name}:${index + 1}`;
    try {
      tasks.push({ task: JSON.parse(line), place });
    } catch (error) {
      issues.push(problem(place, `is no JSON: ${(error as Error).message}`));
    }
  }
  return tasks;
}

/** A list, or an object with the list under `tasks`. */
function readYaml(text: string, name: string, issues: Issue[]): PlacedTask[] {
  const { LineCounter, parseDocument, isMap, isSeq, isNode } = loadYaml();
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, uniqueKeys: true });
  for (const { message, pos } of [...document.errors, ...document.warnings])
    issues.push(problem(`${name}:${lineCounter.linePos(pos[0]).line}`, message.split("\n")[0] ?? message));
  if (issues.length > 0) return [];
  const { contents } = document;
  const list = isMap(contents) ? contents.get("tasks", true) : contents;
  if (!isSeq(list)) {
    issues.push(
      problem(name, `expected a list of tasks, or one under \`tasks\`, got ${show(document.toJS())}`),
    );
    return [];
  }
  return list.items.map((item) => {
    const at = isNode(item) ? item.range?.[0] : undefined;
    const line = at === undefined ? 0 : lineCounter.linePos(at).line;
    return { task: isNode(item) ? item.toJS(document) : item, place: `${name}:${line}` };
  });
}

function readCsv(text: string, name: string, issues: Issue[]): PlacedTask[] {
  let rows: CsvRow[];
  try {
    rows = parseCsv(text);
  } catch (error) {
    if (!(error instanceof CsvInvalid)) throw error;
    issues.push(problem(`${name}:${error.line}`, error.message));
    return [];
  }
  const [head, ...body] = rows;
  if (head === undefined) return [];
  const names = head.cells;
  for (const [at, column] of names.entries()) {
    if (column.trim() === "") issues.push(problem(`${name}:${head.line}`, `column ${at + 1} has no name`));
    else if (names.indexOf(column) !== at)
      issues.push(problem(`${name}:${head.line}`, `two columns are named ${show(column)}`));
  }
  const tasks: PlacedTask[] = [];
  for (const { line, cells } of body) {
    const place = `${name}:${line}`;
    if (cells.length !== names.length)
      issues.push(problem(place, `has ${cells.length} cell(s), and the head has ${names.length}`));
    else
      tasks.push({
        task: Object.fromEntries(names.map((column, at) => [column, cells[at]])),
        place,
        isText: true,
      });
  }
  return tasks;
}
