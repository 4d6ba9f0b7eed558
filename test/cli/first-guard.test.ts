// The guards that bridle init writes, asked in their own processes.

import { afterEach, beforeEach, expect, test } from "vitest";
import { firstFiles } from "../../src/cli/first-guard.ts";
import { testHooks } from "../../src/index.ts";
import { makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.remove());

const DENIED = [
  "rm -rf --no-preserve-root /",
  "rm -R ~/",
  "rm --recursive --force $HOME",
  "rm -rf build /",
  "/bin/rm -rf '/'",
  "echo $(rm -rf ~)",
  "true && rm -rf /home/ada",
  'sh -c "rm -rf /"',
  "ls\nrm -rf /",
  "git -C sub push --force-with-lease",
  "git push origin main -fu",
];
const ALLOWED = [
  "rm -rf /tmp/x",
  "rm -rf ./~x",
  "git commit -m 'push - f'",
  "rm -f /etc/x",
  "echo confirm -rf /",
  "git push --follow-tags",
];

test.each(["node", "sh"] as const)("the guard of init in %s knows accidents from work", async (lang) => {
  const [settings, guard] = firstFiles(lang);
  if (settings === undefined || guard === undefined) throw new Error("init writes two files");
  await world.put("project", guard.path, guard.text, guard.mode);
  const row = (command: string, expect: string) => ({ input: { tool_input: { command } }, expect });
  const selftest = [...DENIED.map((one) => row(one, "deny")), ...ALLOWED.map((one) => row(one, "allow"))];
  const command = lang === "node" ? ["node", guard.path] : ["sh", guard.path];
  const entry = { type: "command" as const, command, selftest: selftest as never };
  await world.declare("project", { PreToolUse: [{ hooks: [entry] }] });
  const [report] = await testHooks(await world.load());
  const wrong = report?.rows.filter(({ passed }) => !passed).map(({ input, got }) => [input, got]);
  expect(report?.rows).toHaveLength(selftest.length);
  expect(wrong).toEqual([]);
});
