// Holds docs/RECEIPTS.md to the code: columns, fields, filters, options, and the names that examples import.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Driver from "better-sqlite3";
import { expect, test } from "vitest";
import * as host from "../../src/host/index.ts";
import * as main from "../../src/index.ts";
import * as store from "../../src/store/index.ts";
import { EXECUTION_COLUMNS, HOOK_COLUMNS } from "../../src/store/rows.ts";
import { DIST, makeFolder } from "../store/support.ts";

const PUBLIC = { "agent-bridle": main, "agent-bridle/host": host, "agent-bridle/store": store };

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/RECEIPTS.md");

const sectionOf = (text: string, start: string, end: string) => {
  const at = text.indexOf(start);
  expect(at, start).not.toBe(-1);
  return text.slice(at, text.indexOf(end, at + start.length));
};
const namesIn = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name as string);
const firstCells = (text: string) =>
  [...text.matchAll(/^\| (`[^|]*)\|/gm)].flatMap(([, cell = ""]) => namesIn(cell));

test.each(["hook", "hook_execution"])(
  "the columns of %s are those of the migrations, with their types",
  (table) => {
    const database = new Driver(":memory:");
    for (const statement of store.MIGRATIONS.flatMap(({ sql }) => sql)) database.exec(statement);
    const columns = database.prepare("SELECT name, lower(type) FROM pragma_table_info(?)").raw().all(table);
    database.close();
    const rows = [
      ...sectionOf(page, `<!-- table: ${table} -->`, "\n\n").matchAll(/^\| `(\w+)` \| (\w+) \|/gm),
    ];
    expect(rows.map(([, name, type]) => [name, type])).toEqual(columns);
  },
);

test("every field of a receipt and of a hook is told", () => {
  const section = sectionOf(page, "## Receipts of a host", "\n## ");
  expect(firstCells(section).sort()).toEqual([...EXECUTION_COLUMNS].sort());
  expect(namesIn(sectionOf(section, "Each hook is told once", "\n\n"))).toEqual([...HOOK_COLUMNS]);
});

test("every filter and option of a store is told", () => {
  const told = namesIn(sectionOf(page, "`query(filters)` yields", "A filter that there is not"));
  const source = read("src/store/filters.ts");
  const words = (name: string) =>
    [...sectionOf(source, `const ${name} = [`, "]").matchAll(/"(\w+)"/g)].map(([, word]) => word as string);
  for (const word of [...words("RECEIPT_WORDS"), ...words("HOOK_WORDS"), "since", "until", "limit"])
    expect(told, word).toContain(word);
  const options = sectionOf(
    read("src/store/open-receipt-store.ts"),
    "interface ReceiptStoreOptions {",
    "\n}",
  );
  expect(firstCells(sectionOf(page, "## SQLite", "### Tables"))).toEqual(
    [...options.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name),
  );
});

test("every option of bridle receipts is told", () => {
  const section = sectionOf(read("docs/CLI.md"), "## bridle receipts", "\n## ");
  const sources = ["src/cli/receipts.ts", "src/cli/receipts/filters.ts"].map(read).join("\n");
  const flags = [...sources.matchAll(/"(--[a-z]+)[ "]/g)].map(([, flag]) => flag as string);
  expect(flags.length).toBeGreaterThan(12);
  for (const flag of flags) expect(section).toMatch(new RegExp(`\`${flag}[\` ]`));
});

test("examples import only what is public", () => {
  const imports = [...page.matchAll(/import \{ ([^}]+) \} from "(agent-bridle[^"]*)"/g)];
  expect(imports.length).toBe(4);
  for (const [, names = "", from] of imports)
    for (const name of names.split(", "))
      expect(Object.hasOwn(PUBLIC[from as keyof typeof PUBLIC], name), name).toBe(true);
});

test("the file of migrations that the page writes makes a store that is complete", async () => {
  const folder = await makeFolder();
  try {
    const code = sectionOf(page, "<!-- example: d1 -->\n```js\n", "```").replace(/^.*\n.*\n/, "");
    const program = code.replace('"agent-bridle/store"', JSON.stringify(join(DIST, "store", "index.js")));
    execFileSync(process.execPath, ["--input-type=module", "-e", program], { cwd: folder.path });
    const path = join(folder.path, "made.sqlite");
    const database = new Driver(path);
    database.exec(readFileSync(join(folder.path, "0001_receipts.sql"), "utf8"));
    database.close();
    const opened = await store.openReceiptStore({ path, readOnly: true });
    expect([...opened.query()]).toEqual([]);
    opened.close();
  } finally {
    await folder.remove();
  }
});
