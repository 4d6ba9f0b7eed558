// Holds the documents to the code: tables, codes, links, and the names that examples import.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { REFUSAL_CODES } from "../../src/errors.ts";
import * as publicList from "../../src/index.ts";
import { DIVERGENCES } from "../../src/profile/divergences.ts";
import { EVENTS, type EventCapability, type ProviderEvent } from "../../src/profile/events.ts";
import { DEFAULT_DEADLINES } from "../../src/spawn/deadlines.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Rows of the first table after a mark, without its head; cells trimmed, `\|` unescaped. */
function tableAfter(text: string, mark: string): string[][] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`no ${mark}`);
  const lines = text.slice(at + mark.length).split("\n");
  const start = lines.findIndex((line) => line.startsWith("|"));
  const rest = lines.slice(start);
  const end = rest.findIndex((line) => !line.startsWith("|"));
  return rest.slice(2, end === -1 ? undefined : end).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll("\\|", "|")),
  );
}

function describeFiring({ fires, capSeconds }: ProviderEvent): string {
  if (!fires) return "no";
  return capSeconds === undefined ? "yes" : `yes, at most ${capSeconds} s`;
}

describe("docs/PROFILE.md", () => {
  const profile = read("docs/PROFILE.md");

  it("has the table of events of the code", () => {
    const expected = Object.entries(EVENTS as Record<string, EventCapability>).map(([name, event]) => [
      `\`${name}\``,
      event.role,
      event.accepts.join(", ") || "nothing",
      event.subject === undefined ? "none" : `\`${event.subject}\``,
      event.awaited ? "yes" : "no",
      event.ours === true ? "Bridle" : describeFiring(event.claude),
      event.ours === true ? "Bridle" : describeFiring(event.codex),
      describeFiring(event.host),
    ]);
    expect(tableAfter(profile, "<!-- table: events -->")).toEqual(expected);
  });

  it("has the table of divergences of the code", () => {
    const expected = DIVERGENCES.map(({ id, subject, claude, codex, bridle, why, shownBy }) => [
      id,
      subject,
      claude,
      codex,
      bridle,
      why,
      shownBy,
    ]);
    expect(tableAfter(profile, "<!-- table: divergences -->")).toEqual(expected);
  });

  it("names each version and its date", () => {
    expect(tableAfter(profile, "## Versions").map((row) => row.slice(0, 2))).toEqual([
      ["v1", "2026-07-12"],
      ["v1, revision 1", "2026-11-30"],
    ]);
  });
});

describe("docs/REFUSALS.md", () => {
  it("lists exactly the codes of the code, with their meanings", () => {
    const rows = tableAfter(read("docs/REFUSALS.md"), "exit code is 78");
    const listed = rows.map(([code = "", meaning]) => [code.replaceAll("`", ""), meaning]);
    expect(listed).toEqual(Object.entries(REFUSAL_CODES));
  });
});

describe("docs/FIELD-REPORTS.md", () => {
  const files = ["test/field-reports", "conformance"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => read(`${folder}/${name}`)),
  );
  /** What is filled in from a table of the test, here and there. */
  const withoutValues = (title: string) => title.replace(/ \((?:%s|%j)\)$/, "").replace(/%[sj]/g, "…");
  const titles = files.flatMap((text) =>
    [...text.matchAll(/["'](field report \d+: [^"]+)"/g)].map(([, title = ""]) => withoutValues(title)),
  );

  it("has exactly the tests that are named for a report", () => {
    const named = tableAfter(read("docs/FIELD-REPORTS.md"), "needs the real CLI").flatMap(
      ([, , tests = ""]) => tests.split(/; (?=field report)/),
    );
    expect(named.sort()).toEqual(titles.sort());
  });
});

describe("docs/SPAWN.md", () => {
  const spawn = read("docs/SPAWN.md");
  const fieldsOf = (name: string) => {
    const source = read("src/spawn/options.ts");
    const start = source.indexOf(`export interface ${name} {`);
    const body = source.slice(start, source.indexOf("\n}", start));
    return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field]) => field);
  };

  it("has every option", () => {
    const listed = tableAfter(spawn, "## Options").map(([field = ""]) => field.replaceAll("`", ""));
    const expected = fieldsOf("SpawnOptions").flatMap((field) =>
      field === "admit" ? fieldsOf("AdmitOptions").map((inner) => `admit.${inner}`) : [field],
    );
    expect(listed).toEqual(expected);
  });

  it("has every deadline with its default", () => {
    const listed = tableAfter(spawn, "## Deadlines").map(([field = "", , value = ""]) => [
      field.replaceAll("`", ""),
      Number.parseInt(value, 10),
    ]);
    expect(listed).toEqual([...Object.entries(DEFAULT_DEADLINES), ["exitHookMs", Number.NaN]]);
  });
});

describe("docs/SUPERVISOR.md", () => {
  const page = read("docs/SUPERVISOR.md");
  const fieldsOf = (file: string, name: string) => {
    const source = read(file);
    const start = source.indexOf(`export interface ${name} {`);
    const body = source.slice(start, source.indexOf("\n}", start));
    return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, field]) => field);
  };
  const listedAfter = (mark: string) =>
    tableAfter(page, mark).map(([field = ""]) => field.replaceAll("`", ""));

  it("has every option of a supervisor", () => {
    const fields = fieldsOf("src/supervisor/supervisor-options.ts", "SupervisorOptions");
    expect(listedAfter("`createSupervisor(options)`")).toEqual(fields);
  });

  it("has every option of stopAllRuns", () => {
    const fields = fieldsOf("src/supervisor/shutdown.ts", "StopAllOptions");
    expect(listedAfter("await stopAllRuns(")).toEqual(fields);
  });
});

describe("docs/SPAWN.md, what a run shows", () => {
  const spawn = read("docs/SPAWN.md");
  const fieldsOf = (file: string, name: string) => {
    const source = read(file);
    const start = source.indexOf(`export interface ${name} {`);
    const body = source.slice(start, source.indexOf("\n}", start));
    return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, field]) => field as string);
  };
  const namesIn = (cell = "") => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name as string);

  it("has every field of a result", () => {
    const listed = tableAfter(spawn, "## Result").flatMap(([cell]) => namesIn(cell));
    expect(listed.sort()).toEqual(fieldsOf("src/spawn/result.ts", "RunResult").sort());
  });

  it("has every field of an event's attestation, in order", () => {
    const listed = tableAfter(spawn, "event, frozen:").flatMap(([cell]) => namesIn(cell));
    expect(listed).toEqual(fieldsOf("src/spawn/attestation.ts", "EventAttestation"));
  });

  it("has every kind of receipt line", () => {
    const source = read("src/receipts/receipt.ts");
    const kinds = [...source.matchAll(/readonly kind: "(\w+)"/g)].map(([, kind]) => kind as string);
    const listed = namesIn(/in order: ([\s\S]*?)\. Each line/.exec(spawn)?.[1]);
    expect(listed.sort()).toEqual(kinds.sort());
  });

  it("has every first word of an unenforced reason that a watch gives", () => {
    const files = ["watch-tools", "watch-provider-hooks", "watch-codex-session", "attestation"];
    const source = files.map((file) => read(`src/spawn/${file}.ts`)).join("\n");
    const given = [
      ...source.matchAll(/fault: "(\w+)"/g),
      ...source.matchAll(/report\(\s*"(\w+)"/g),
      ...source.matchAll(/`(canary|unanswered): /g),
    ].map(([, word]) => word as string);
    const listed = tableAfter(spawn, "by the first word of the reason").flatMap(([cell]) => namesIn(cell));
    expect(given.length).toBeGreaterThan(5);
    expect([...new Set(given)].filter((word) => !listed.includes(word))).toEqual([]);
  });
});

describe("provider facts", () => {
  const cited = (pattern: RegExp) => {
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
    const sources = files.filter((file) => /\.m?[jt]s$/.test(file)).map((file) => read(join("src", file)));
    return [...new Set(sources.flatMap((source) => source.match(pattern) ?? []))].sort();
  };
  const rowIds = (path: string) =>
    [...read(path).matchAll(/^\| ([CX]-\d+) \|/gm)].map(([, id]) => id as string);

  it.each([
    ["claude", /\bC-\d+\b/g],
    ["codex", /\bX-\d+\b/g],
  ] as const)("every row of %s that the code cites exists, and no id is given twice", (name, pattern) => {
    const ids = rowIds(`docs/providers/${name}.md`);
    expect(new Set(ids).size).toBe(ids.length);
    expect(cited(pattern).filter((id) => !ids.includes(id))).toEqual([]);
  });
});

describe("links", () => {
  const pages = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".md"))
      .map((file) => join("docs", file)),
  ];

  const linksOf = (page: string) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target as string)
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => {
        const [path = "", anchor] = target.split("#");
        return { path: path === "" ? page : relative(root, resolve(root, dirname(page), path)), anchor };
      });

  const anchorsOf = (page: string) =>
    [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );

  it.each(pages)("of %s resolve", (page) => {
    for (const { path, anchor } of linksOf(page)) {
      expect(statSync(join(root, path)).isFile(), path).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(path)).toContain(anchor);
    }
  });

  it("reach every page from the README", () => {
    const seen = new Set<string>();
    const visit = (page: string) => {
      if (seen.has(page)) return;
      seen.add(page);
      for (const { path } of linksOf(page)) if (path.endsWith(".md")) visit(path);
    };
    visit("README.md");
    expect(pages.filter((page) => !seen.has(page))).toEqual([]);
  });
});

describe("examples", () => {
  const source = read("src/index.ts");
  const isPublic = (name: string) =>
    Object.hasOwn(publicList, name) || new RegExp(`\\btype ${name}\\b|^ {2}${name},$`, "m").test(source);
  const importsOf = (code: string) =>
    [...code.matchAll(/import \{([^}]+)\} from "agent-bridle"/g)].flatMap(([, names = ""]) =>
      names
        .split(",")
        .map((name) => name.trim().replace(/^type /, ""))
        .filter((name) => name !== ""),
    );

  it("in the README import only what is public", () => {
    const blocks = [...read("README.md").matchAll(/```ts\n(\/\/ example:[\s\S]*?)```/g)].map(
      ([, code = ""]) => code,
    );
    expect(blocks.length).toBeGreaterThan(0);
    const names = blocks.flatMap(importsOf);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !isPublic(name))).toEqual([]);
  });

  it("hooks.yaml is a declaration without problems", async () => {
    const { declaration } = await publicList.loadDeclaration(join(root, "examples/hooks.yaml"));
    expect(Object.keys(declaration)).toEqual(["PreToolUse"]);
  });

  it("as files import only what is public", () => {
    const names = importsOf(read("examples/guarded-run.ts"));
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !isPublic(name))).toEqual([]);
  });

  it.each([
    ["find build -delete", 2],
    ["rm -r build", 2],
    ["ls build", 0],
  ])("the guard answers %j with exit %i", (command, code) => {
    const guard = join(root, "examples", "guard.mjs");
    const { status, stderr } = spawnSync(process.execPath, [guard], {
      input: `${JSON.stringify({ tool_command: command })}\n`,
      encoding: "utf8",
    });
    expect(status).toBe(code);
    expect(stderr.includes("not allowed")).toBe(code === 2);
  });

  it("in the README are the files in examples/", () => {
    const readme = read("README.md");
    const withoutComments = (text: string) => text.replaceAll(/^(?:#|\/\/).*\n/gm, "").trim();
    expect(readme).toContain(withoutComments(read("examples/hooks.yaml")));
    expect(readme).toContain(withoutComments(read("examples/guard.mjs")));
  });
});

describe("the measured facts", () => {
  it.each(["claude", "codex"])("of %s have one id each", (provider) => {
    const ids = [...read(`docs/providers/${provider}.md`).matchAll(/^\| ([CX]-\d+) \|/gm)].map(
      ([, id]) => id,
    );
    expect(ids.length).toBeGreaterThan(20);
    expect([...new Set(ids)]).toEqual(ids);
  });
});
