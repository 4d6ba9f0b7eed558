// Holds the matrix, the documents and the table of divergences to one another: every id that one of them names exists.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { DIVERGENCES } from "../../src/profile/divergences.ts";
import { EVENTS, type EventCapability, type Provider } from "../../src/profile/events.ts";
import { columnsOf, loadMatrix } from "../../src/prove/matrix/load.ts";
import { CALLBACK_COLUMN, COLUMN_NAMES } from "../../src/prove/matrix/schema.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const { cases } = await loadMatrix();
const ids = new Set(cases.map(({ id }) => id));

/** Most cases of one provider's core set, its columns together: what a proof of a binary may cost. */
/** Cases a column: a proof that takes minutes is one that people switch off. */
const MOST_OF_THE_CORE = 25;
const MOST_OF_CALLBACKS = 35;

describe("the matrix", () => {
  it("names only rules that exist", () => {
    const facts = ["docs/providers/claude.md", "docs/providers/codex.md"].flatMap((path) =>
      [...read(path).matchAll(/^\| ([CX]-\d+) \|/gm)].map(([, id]) => id as string),
    );
    const known = new Set([...facts, ...DIVERGENCES.map(({ id }) => id)]);
    const headings = Object.fromEntries(
      ["PROFILE", "SPAWN", "THREATS"].map((page) => [
        page,
        new Set([...read(`docs/${page}.md`).matchAll(/^#+ (.+)$/gm)].map(([, title]) => title)),
      ]),
    );
    const refusals = read("docs/REFUSALS.md");
    const exists = (rule: string) => {
      const [page = "", section = ""] = rule.split(": ");
      if (page === "REFUSALS") return refusals.includes(`\`${section}\``);
      return headings[page]?.has(section) ?? known.has(rule);
    };
    const unknown = cases.flatMap(({ id, rule }) =>
      rule.filter((it) => !exists(it)).map((it) => `${id}: ${it}`),
    );
    expect(unknown).toEqual([]);
  });

  it("shows every divergence, by ids that exist", () => {
    for (const { id, shownBy } of DIVERGENCES) {
      const shown = shownBy.split(", ");
      expect(shown.filter((it) => !ids.has(it))).toEqual([]);
      const ruled = cases.filter((it) => shown.includes(it.id) && it.rule.includes(id));
      expect(new Set(ruled.map((it) => it.id)), id).toEqual(new Set(shown));
    }
  });

  it("has every case that the facts say they are shown by", () => {
    const named = ["docs/providers/claude.md", "docs/providers/codex.md"].flatMap((path) =>
      [...read(path).matchAll(/matrix: ([^;|]+)/g)].flatMap(
        ([, list = ""]) => list.match(/\b[a-z0-9]+(?:-[a-z0-9]+)+\b/g) ?? [],
      ),
    );
    const words = ["code-mode", "by-hand"];
    expect(named.filter((it) => !ids.has(it) && !words.includes(it))).toEqual([]);
    expect(named.length).toBeGreaterThan(50);
  });

  it.each(["claude", "codex"] as const)("has a core set for %s that is small and required", (provider) => {
    const core = cases.filter(({ core, column }) => core === true && column.startsWith(provider));
    for (const name of columnsOf(provider))
      expect(core.filter(({ column }) => column === name).length).toBeLessThanOrEqual(
        name === CALLBACK_COLUMN ? MOST_OF_CALLBACKS : MOST_OF_THE_CORE,
      );
    expect(core.filter(({ required }) => !required)).toEqual([]);
    // A downgrade of the core is proven by the core.
    const names = new Set(core.map(({ id, column }) => `${id} on ${column}`));
    for (const { downgrade, column } of core)
      for (const id of downgrade?.proven_by ?? []) expect(names).toContain(`${id} on ${column}`);
  });

  it.each(["claude", "codex"] as const)(
    "fires every event of %s that can fire without a terminal",
    (provider) => {
      const neverSeen = ["Notification"]; // C-23
      const fired = new Set(
        cases
          .filter(({ kind, column }) => kind === "fires" && column.startsWith(provider))
          .flatMap(({ hooks }) => Object.keys(hooks ?? {})),
      );
      const wanted = Object.entries(EVENTS as Record<string, EventCapability>).filter(
        ([name, event]) => event[provider as Provider].fires && !neverSeen.includes(name),
      );
      expect(wanted.map(([name]) => name).filter((name) => !fired.has(name))).toEqual([]);
    },
  );

  it("has a column for each way to call tools", () => {
    expect(new Set(cases.map(({ column }) => column))).toEqual(new Set(COLUMN_NAMES));
  });

  it("says in one sentence what each case is about, each in its own words", () => {
    const titles = new Map(cases.map(({ id, title }) => [id, title]));
    for (const [id, title] of titles) expect(title, id).toMatch(/^[A-Z][^.]{15,}[^.]$/);
  });
});

it("conformance files named in the facts exist", () => {
  const files = readdirSync(join(root, "conformance"));
  for (const path of ["docs/providers/claude.md", "docs/providers/codex.md"])
    for (const [name] of read(path).matchAll(/(?<![/\w.-])[\w.-]+\.test\.ts/g))
      expect(files, `${path}: ${name}`).toContain(name);
});
