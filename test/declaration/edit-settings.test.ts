// A settings file is changed whole or not at all, and every byte that was not changed stays.

import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Document, parse, parseDocument } from "yaml";
import { editSettings, readSettings } from "../../src/declaration/edit-settings.ts";
import { patchYaml } from "../../src/declaration/patch-yaml.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-settings-"));
  file = join(folder, "settings.yaml");
});
afterEach(async () => {
  chmodSync(folder, 0o700);
  await rm(folder, { recursive: true, force: true });
});

const setOne = (document: Document.Parsed) => {
  document.setIn(["trusted", "one"], 1);
  return true;
};
const leftovers = () => readdirSync(folder).filter((name) => name !== "settings.yaml");
const isRoot = process.geteuid?.() === 0;

describe("a file", () => {
  test("that is not there is made with its folder, for its owner alone", async () => {
    const deep = join(folder, "a", ".lionagi", "settings.yaml");
    expect(await editSettings(deep, setOne)).toEqual({ path: deep, isChanged: true });
    expect(readFileSync(deep, "utf8")).toBe("trusted:\n  one: 1\n");
    expect(statSync(deep).mode & 0o777).toBe(0o600);
  });

  test("keeps its mode, and leaves nothing beside it", async () => {
    await writeFile(file, "a: 1\n");
    await chmod(file, 0o664);
    await editSettings(file, setOne);
    expect(statSync(file).mode & 0o777).toBe(0o664);
    expect(leftovers()).toEqual([]);
  });

  test.runIf(isRoot)("keeps its owner", async () => {
    await writeFile(file, "a: 1\n");
    const { chownSync } = await import("node:fs");
    chownSync(file, 12345, 12346);
    await editSettings(file, setOne);
    expect(statSync(file)).toMatchObject({ uid: 12345, gid: 12346 });
  });

  test("that nothing is to be changed in is not written", async () => {
    await writeFile(file, "a: 1\n");
    const { ino } = statSync(file);
    expect(await editSettings(file, () => false)).toEqual({ path: file, isChanged: false });
    expect(await editSettings(file, () => true)).toEqual({ path: file, isChanged: false });
    expect(statSync(file).ino).toBe(ino);
  });

  test("behind a link is changed where it is, and the link stays", async () => {
    const target = join(folder, "elsewhere.yaml");
    await writeFile(target, "a: 1\n");
    await symlink("elsewhere.yaml", file);
    expect(await editSettings(file, setOne)).toEqual({ path: target, isChanged: true });
    expect(readFileSync(target, "utf8")).toBe("a: 1\ntrusted:\n  one: 1\n");
    expect(readdirSync(folder).sort()).toEqual(["elsewhere.yaml", "settings.yaml"]);
    expect((await import("node:fs")).lstatSync(file).isSymbolicLink()).toBe(true);
  });

  test("behind a link that leads nowhere is refused", async () => {
    await symlink("gone.yaml", file);
    await expect(editSettings(file, setOne)).rejects.toThrow("a link to a file that is not there");
    expect(existsSync(join(folder, "gone.yaml"))).toBe(false);
  });

  test.each([
    ["a: [1\n", "settings.yaml:2"],
    ["a: 1\na: 2\n", "settings.yaml:2"],
    ["- a\n", "no map of settings"],
    ["a: 1\n---\nb: 2\n", "settings.yaml"],
    [
      "a: &a [x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]\n",
      "settings.yaml",
    ],
  ])("that is malformed, %j, is refused with its place and left as it is", async (text, told) => {
    await writeFile(file, text);
    await expect(editSettings(file, setOne)).rejects.toThrow(told);
    await expect(readSettings(file)).rejects.toThrow(told);
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(leftovers()).toEqual([]);
  });

  test("that is not UTF-8 is refused and left as it is", async () => {
    const bytes = Buffer.from([0x61, 0x3a, 0x20, 0xff, 0x0a]);
    await writeFile(file, bytes);
    await expect(editSettings(file, setOne)).rejects.toThrow("is not UTF-8");
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  test("that is a folder is refused", async () => {
    await mkdir(file);
    await expect(editSettings(file, setOne)).rejects.toThrow("is no regular file");
  });

  test("that another program changed meanwhile is not overwritten", async () => {
    await writeFile(file, "a: 1\n");
    const edit = async (document: Document.Parsed) => {
      await writeFile(file, "a: 2\n");
      return setOne(document);
    };
    await expect(editSettings(file, edit)).rejects.toThrow("changed by another program meanwhile");
    expect(readFileSync(file, "utf8")).toBe("a: 2\n");
    expect(leftovers()).toEqual([]);
  });

  test("is as it was, and unlocked, when the edit throws", async () => {
    await writeFile(file, "a: 1\n");
    const edit = () => {
      throw new Error("no");
    };
    await expect(editSettings(file, edit)).rejects.toThrow("no");
    expect(readFileSync(file, "utf8")).toBe("a: 1\n");
    await editSettings(file, setOne);
  });

  test("that another program holds is waited for, then refused", async () => {
    await writeFile(file, "a: 1\n");
    await mkdir(`${file}.lock`);
    await expect(editSettings(file, setOne, { lockWaitMs: 60 })).rejects.toThrow(
      "is locked by another program",
    );
    expect(readFileSync(file, "utf8")).toBe("a: 1\n");
  });

  test.skipIf(isRoot)("in a folder that may not be written is as it was", async () => {
    await writeFile(file, "a: 1\n");
    await chmod(folder, 0o500);
    await expect(editSettings(file, setOne)).rejects.toThrow("EACCES");
    expect(readFileSync(file, "utf8")).toBe("a: 1\n");
  });

  test("that many edit at once loses no change", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    await Promise.all(
      names.map((name) =>
        editSettings(file, (document) => {
          document.setIn(["trusted", name], true);
          return true;
        }),
      ),
    );
    expect(Object.keys(parse(readFileSync(file, "utf8")).trusted).sort()).toEqual(names.sort());
  });
});

const MESSY = `# mine
theme:   dark      # two blanks
"quoted" : 'single'

hooks_external:   # ours
    # the first
    PreToolUse:
    -   matcher:  Bash   # shell
        hooks:
        - {type: command,  command: [ node,   guard.mjs ]}

    # between
    Stop:
      - hooks: [ ]

long: this is a line that is much longer than eighty characters, so that a printer which folds lines would fold it here
text: |
  kept

  as it is
list: [1,   2]
`;

function patched(text: string, change: (document: Document.Parsed) => void): string {
  const after = parseDocument(text);
  change(after);
  const next = patchYaml(text, parseDocument(text), after);
  if (next === undefined) throw new Error("it cannot be patched");
  return next;
}

describe("a patch", () => {
  test("adds to a list, a map and the root, and touches no other line", () => {
    const next = patched(MESSY, (document) => {
      const item = document.createNode({ hooks: [{ type: "command", command: ["a"] }] });
      item.commentBefore = " from f:1";
      (document.getIn(["hooks_external", "PreToolUse"]) as { items: unknown[] }).items.push(item);
      document.setIn(["hooks_external", "PostToolUse"], [1]);
      document.set("trusted", { x: 1 });
    });
    const lines = MESSY.split("\n").slice(0, -1);
    const insertAt = lines.findIndex((line) => line.includes("guard.mjs")) + 1;
    const eventAt = lines.findIndex((line) => line.includes("- hooks: [ ]")) + 1;
    const added = [
      ...[
        "    # from f:1",
        "    - hooks:",
        "        - type: command",
        "          command:",
        "            - a",
      ],
    ];
    expect(next.split("\n")).toEqual([
      ...lines.slice(0, insertAt),
      ...added,
      ...lines.slice(insertAt, eventAt),
      "    PostToolUse:",
      "      - 1",
      ...lines.slice(eventAt),
      "trusted:",
      "  x: 1",
      "",
    ]);
  });

  test("puts an addition to the last list before what comes after that list", () => {
    const next = patched("x:   1   # odd\na:\n  b:\n    - 1\n", (document) => {
      document.addIn(["a", "b"], 2);
      document.setIn(["a", "c"], 3);
      document.set("d", 4);
    });
    expect(next).toBe("x:   1   # odd\na:\n  b:\n    - 1\n    - 2\n  c: 3\nd: 4\n");
  });

  test("changes one value and keeps the rest", () => {
    const next = patched(MESSY, (document) =>
      document.setIn(["hooks_external", "PreToolUse", 0, "matcher"], "Edit"),
    );
    expect(next).toBe(MESSY.replace("matcher:  Bash   # shell", "matcher: Edit # shell"));
  });

  test("removes a key with its lines", () => {
    expect(patched(MESSY, (document) => document.delete("text"))).toBe(
      MESSY.replace("text: |\n  kept\n\n  as it is\n", ""),
    );
  });

  test("fills a key that has no value yet", () => {
    expect(
      patched("a: 1\nhooks_external:\nb: 2 # c\n", (document) => document.set("hooks_external", { x: 1 })),
    ).toBe("a: 1\nhooks_external:\n  x: 1\nb: 2 # c\n");
  });

  test.each([
    ["no newline at the end", "a: 1", "a: 1\nz:\n  y: 1\n"],
    ["comments only", "# mine\n", "# mine\nz:\n  y: 1\n"],
    ["nothing", "", "z:\n  y: 1\n"],
    ["CR LF", "a: 1\r\n# b\r\n", "a: 1\r\nz:\r\n  y: 1\r\n# b\r\n"],
    ["an end mark", "a: 1\n...\n", "a: 1\nz:\n  y: 1\n...\n"],
  ])("of a file with %s", (_, text, expected) => {
    expect(patched(text, (document) => void document.setIn(["z", "y"], 1))).toBe(expected);
  });

  test.each(['{ "a": 1, "b": {"c": [1]} }\n', "{a: [1,   2], b: {c: [1]}}\n"])(
    "of %j, which braces hold, is none",
    (text) => {
      expect(() => patched(text, (document) => document.setIn(["b", "d"], 2))).toThrow("cannot be patched");
    },
  );

  test("of any map says what the document says, and keeps every untouched key's line", () => {
    const value = fc.oneof(
      fc.string({ maxLength: 8 }),
      fc.integer(),
      fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }),
    );
    const key = fc.stringMatching(/^[a-z]{1,6}$/);
    const map = fc.dictionary(key, fc.oneof(value, fc.dictionary(key, value, { maxKeys: 3 })), {
      maxKeys: 5,
    });
    fc.assert(
      fc.property(map, fc.array(fc.tuple(key, key, value), { maxLength: 4 }), (start, changes) => {
        const text = `# head\n${Object.entries(start)
          .map(([name, inner]) => `${name}:   ${JSON.stringify(inner)} # ${name}\n`)
          .join("")}`;
        const after = parseDocument(text);
        for (const [outer, inner, what] of changes)
          if (!Object.hasOwn(start, outer)) after.setIn([outer, inner], what);
        const next = patchYaml(text, parseDocument(text), after) ?? "";
        expect(parse(next)).toEqual(after.toJS());
        expect(next.startsWith(text)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
