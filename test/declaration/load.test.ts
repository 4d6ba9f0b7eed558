import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadDeclaration } from "../../src/declaration/load.ts";
import { AgentHooksRefused, type Issue } from "../../src/errors.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bridle-declaration-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let count = 0;
async function load(text: string | Buffer, name = `hooks-${count++}.yaml`) {
  const file = join(folder, name);
  await writeFile(file, text);
  return loadDeclaration(file);
}

async function refusal(loading: Promise<unknown>): Promise<readonly Issue[]> {
  const error = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AgentHooksRefused);
  return (error as AgentHooksRefused).issues;
}

const YAML = 'hooks_external:\n  PreToolUse:\n    - hooks: [{ type: command, command: ["true"] }]\n';
const DECLARATION = { PreToolUse: [{ hooks: [{ type: "command", command: ["true"] }] }] };

test("a YAML file is read under hooks_external, and its other keys are not ours", async () => {
  const { declaration, source, projectRoot } = await load(`other: [1\n  , 2]\n${YAML}`, "a.yaml");
  expect({ ...declaration }).toEqual(DECLARATION);
  expect({ source, projectRoot }).toEqual({ source: join(folder, "a.yaml"), projectRoot: folder });
});

test("a JSON file is read the same", async () => {
  const { declaration } = await load(JSON.stringify({ hooks_external: DECLARATION }), "a.json");
  expect({ ...declaration }).toEqual(DECLARATION);
});

test("a byte order mark is fine", async () => {
  expect({ ...(await load(`\uFEFF${YAML}`)).declaration }).toEqual(DECLARATION);
});

test("a file in .lionagi belongs to the folder above", async () => {
  await mkdir(join(folder, ".lionagi"), { recursive: true });
  const { projectRoot } = await load(YAML, ".lionagi/settings.yaml");
  expect(projectRoot).toBe(folder);
});

test("a file that is not there is refused with its path", async () => {
  const issues = await refusal(loadDeclaration(join(folder, "none.yaml")));
  expect(issues).toMatchObject([{ code: "declaration_invalid", path: join(folder, "none.yaml") }]);
});

test.each(["[]", "text"])("%j is no map of settings and is refused", async (text) => {
  const issues = await refusal(load(text));
  expect(issues).toMatchObject([{ code: "declaration_invalid", message: "is no map of settings" }]);
});

test.each(["", "# nothing\n", "hooks: {}\n", "null", "__proto__: {hooks_external: {}}\n"])(
  "%j has no hooks_external and is refused",
  async (text) => {
    const issues = await refusal(load(text));
    expect(issues).toMatchObject([{ code: "declaration_invalid", message: "has no hooks_external key" }]);
  },
);

test("a key given twice is refused with its line, because the last one would win without a word", async () => {
  const issues = await refusal(load(`${YAML}  PreToolUse: []\n`, "twice.yaml"));
  expect(issues).toMatchObject([{ code: "declaration_invalid", path: `${join(folder, "twice.yaml")}:4` }]);
});

test("broken YAML is refused with its line", async () => {
  const issues = await refusal(load("hooks_external:\n  PreToolUse: [\n", "broken.yaml"));
  expect(issues[0]?.path).toMatch(/broken\.yaml:\d+$/);
});

test("aliases that grow without bound are refused", async () => {
  const bomb = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"];
  for (let level = 1; level < 8; level++)
    bomb.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(",")}]`,
    );
  const issues = await refusal(load(`${bomb.join("\n")}\n${YAML}`));
  expect(issues).toMatchObject([{ code: "declaration_invalid" }]);
});

test("every problem of the file is reported together, each with file, event, group and entry", async () => {
  const text =
    'hooks_external:\n  PreToolUse:\n    - hooks: [{ type: command, command: "rm x" }, { type: prompt }]\n  Nope: []\n';
  const issues = await refusal(load(text, "many.yaml"));
  const at = join(folder, "many.yaml");
  expect(issues.map(({ code, path }) => [code, path])).toEqual([
    ["command_invalid", `${at}: PreToolUse[0].hooks[0].command`],
    ["handler_type_unsupported", `${at}: PreToolUse[0].hooks[1].type`],
    ["event_unknown", `${at}: Nope`],
  ]);
});

test("a function handler cannot come from a file", async () => {
  const text = "hooks_external:\n  PreToolUse:\n    - hooks: [{ type: function, handler: x }]\n";
  expect(await refusal(load(text))).toMatchObject([{ code: "declaration_invalid" }]);
});

test("whatever bytes a file holds, it is loaded or refused", async () => {
  const yamlish = fc.array(
    fc.oneof(
      fc.constantFrom(
        "hooks_external:",
        "\n",
        "  ",
        "- ",
        "&a",
        "*a",
        "<<: ",
        "!!js",
        "{",
        "}",
        "[",
        "]",
        ": ",
        "? ",
        "|",
        "%YAML",
      ),
      fc.string({ maxLength: 5 }),
    ),
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array)),
    yamlish.map((parts) => Buffer.from(parts.join(""))),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify({ hooks_external: value }))),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (content) => {
      const error = await load(content, "fuzz.yaml").then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error !== undefined) expect(error).toBeInstanceOf(AgentHooksRefused);
    }),
    { numRuns: 600 },
  );
});

test.each([["Stop"], ["hooks"], ["ConfigChange"]])(
  "%s beside hooks_external is refused, because it would not be read",
  async (key) => {
    const [issue] = await refusal(
      load(`${YAML}${key}:\n  - hooks: [{ type: command, command: ["true"] }]\n`),
    );
    expect(issue).toMatchObject({ code: "declaration_invalid", message: expect.stringContaining(key) });
  },
);
