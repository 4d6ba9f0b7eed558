// Trust in a run: an agent that rewrites its guard, and an imported hook that nobody trusted.

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import {
  approve,
  compileAgentHooks,
  type HookDeclaration,
  loadSettings,
  pendingCommands,
  spawnAgent,
} from "../../src/index.ts";
import { createFakeProvider, type FakeStep } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { isThere } from "../testkit/support.ts";
import { group } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
  await mkdir(join(place.cwd, ".lionagi"));
  await mkdir(join(place.cwd, "guards"));
});
afterEach(() => place.remove());

const guard = async (name: string, body: string) => {
  const file = join(place.cwd, name);
  await writeFile(file, body);
  await chmod(file, 0o755);
};

/** The three lines of a program, around a fake agent. */
async function run(declaration: HookDeclaration, steps: readonly FakeStep[], { trusted = false } = {}) {
  await writeFile(join(place.cwd, ".lionagi/settings.yaml"), stringify({ hooks_external: declaration }));
  const { home, cwd } = place;
  const settings = await loadSettings({ cwd, home });
  if (trusted) await approve(await pendingCommands(settings), { home });
  const { binary } = await createFakeProvider({
    provider: "claude",
    script: { steps },
    directory: join(home, "fakes"),
  });
  const hooks = await compileAgentHooks(settings.declaration, {
    provider: "claude",
    cwd,
    origins: settings.origins,
    trust: { home },
    binary,
    prove: "off",
  });
  const receipts: object[] = [];
  const agent = await spawnAgent({
    hooks,
    prompt: "hello",
    cwd,
    baseEnv: place.env,
    receiptSink: (line) => void receipts.push(line),
  });
  return { result: await agent.result, receipts };
}

const IMPORTED = { source: "imported:claude" };
const steps = (...commands: string[]): FakeStep[] => [
  ...commands.map((shell) => ({ tools: [{ shell }] })),
  { text: "done" },
];

describe("a guard that the agent rewrites mid-run", () => {
  const ALLOW = "#!/bin/sh\nexit 0\n";
  const rewrites = {
    "in place": "echo 'exit 0' >> guards/g.sh",
    "by another file": "cp guards/g.sh guards/n && echo >> guards/n && mv guards/n guards/g.sh",
    "by a link": "cp guards/g.sh guards/n && echo >> guards/n && ln -sf n guards/g.sh",
    "by nothing": "rm guards/g.sh",
  };
  test.each(Object.entries(rewrites))(
    "%s denies the next call as command_changed, and ends the run",
    async (_how, command) => {
      await guard("guards/g.sh", ALLOW);
      const { result, receipts } = await run(
        { PreToolUse: [group(["sh", "guards/g.sh"], IMPORTED)] },
        steps(command, "touch after"),
        { trusted: true },
      );
      expect(isThere(place, "after")).toBe(false);
      expect(result).toMatchObject({
        outcome: "unenforced",
        reason: expect.stringContaining("command_changed"),
      });
      expect(receipts).toContainEqual(
        expect.objectContaining({
          kind: "hook",
          decision: "deny",
          notes: [expect.objectContaining({ code: "command_changed" })],
        }),
      );
    },
  );

  test("and puts back as it was before anybody looked is what was compiled", async () => {
    await guard("guards/g.sh", ALLOW);
    const back = "cp guards/g.sh guards/n && echo >> guards/g.sh && cat guards/n > guards/g.sh";
    const { result } = await run(
      { PreToolUse: [group(["sh", "guards/g.sh"], IMPORTED)] },
      steps(back, "touch after"),
      { trusted: true },
    );
    expect([result.outcome, isThere(place, "after")]).toEqual(["success", true]);
  });
});

test("a program put on PATH after compile is not taken in the place of the one compiled", async () => {
  await guard("guards/g.sh", "#!/bin/sh\nexit 0\n");
  const fake = `printf '#!/bin/sh\\ntouch "${place.cwd}/hijacked"\\n' > sh && chmod +x sh`;
  const { result } = await run(
    { PreToolUse: [group(["sh", "guards/g.sh"], IMPORTED)] },
    steps(fake, "true"),
    { trusted: true },
  );
  expect([result.outcome, isThere(place, "hijacked")]).toEqual(["success", false]);
});

test("guards are not copied: `dirname $0` and relative imports keep working", async () => {
  await writeFile(join(place.cwd, "guards/word.txt"), "from beside me");
  await writeFile(join(place.cwd, "guards/lib.mjs"), "export const word = 'imported';\n");
  await guard("guards/g.sh", '#!/bin/sh\ncat "$(dirname "$0")/word.txt" > told\n');
  await guard(
    "guards/g.mjs",
    'import { writeFileSync } from "node:fs";\nimport { word } from "./lib.mjs";\nwriteFileSync("told2", word);\n',
  );
  await run(
    {
      PreToolUse: [
        group(["./guards/g.sh"], IMPORTED),
        group(["node", "{project_dir}/guards/g.mjs"], IMPORTED),
      ],
    },
    steps("true"),
    { trusted: true },
  );
  expect(await readFile(join(place.cwd, "told"), "utf8")).toBe("from beside me");
  expect(await readFile(join(place.cwd, "told2"), "utf8")).toBe("imported");
});

test("an advisory hook that is not trusted is skipped, with a warning in receipt and result", async () => {
  await guard("guards/g.sh", "#!/bin/sh\ntouch advised\n");
  const { result, receipts } = await run(
    { PostToolUse: [group(["./guards/g.sh"], IMPORTED)] },
    steps("touch ran"),
  );
  const warning = { code: "command_untrusted", message: expect.stringContaining("guards/g.sh") };
  expect([isThere(place, "ran"), isThere(place, "advised")]).toEqual([true, false]);
  expect(result.warnings).toContainEqual(warning);
  expect(receipts).toContainEqual(expect.objectContaining({ kind: "warning", ...warning }));
});
