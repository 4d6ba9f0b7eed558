// A checkout of others' code: with `requireTrustedProject` its files count only when the user said so, and only as they were then.

import { afterEach, beforeEach, expect, test } from "vitest";
import { approveProject, revokeProject } from "../../src/index.ts";
import { codesOf, group, issuesOf, makeWorld, type World } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
  await world.guard("project", "g.sh");
  await world.declare("project", { PreToolUse: [group(["./g.sh"])], Stop: [group(["./g.sh"])] });
});
afterEach(() => world.remove());

const REQUIRED = { requireTrustedProject: true };

test("it is off by default", async () => {
  expect((await world.compile()).describe().hooks).toHaveLength(2);
});

test("until then the project's entries are listed, and refused on every event, not skipped", async () => {
  const { origins, issues } = await world.load(REQUIRED);
  expect(origins.size).toBe(2);
  expect(issues).toMatchObject([{ code: "command_untrusted", path: world.project }]);
  expect(await codesOf(world.compile(REQUIRED))).toEqual(["command_untrusted", "command_untrusted"]);
});

test("the user's own entries are not touched by it", async () => {
  await world.put("project", ".lionagi/settings.yaml", "");
  await world.guard("home", "g.sh");
  await world.declare("home", { PreToolUse: [group(["./g.sh"])] });
  await approveProject(await world.load());
  expect((await world.compile(REQUIRED)).describe().hooks).toHaveLength(1);
});

test("trusted, they run; revoked, they do not", async () => {
  await approveProject(await world.load());
  expect((await world.compile(REQUIRED)).describe().hooks).toHaveLength(2);
  expect((await world.load(REQUIRED)).issues).toEqual([]);
  expect(await revokeProject(await world.load())).toBe(true);
  expect(await codesOf(world.compile(REQUIRED))).toHaveLength(2);
});

test.each([
  ["its settings", () => world.declare("project", { Stop: [group(["./g.sh", "more"])] })],
  ["a script that they name", () => world.guard("project", "g.sh", "exit 1")],
  ["a new fragment", () => world.declare("project", { Stop: [group(["node"])] }, ".lionagi/hooks/a.yaml")],
])("a change of %s takes the trust away", async (_what, change) => {
  await approveProject(await world.load());
  await change();
  const issues = await issuesOf(world.compile(REQUIRED));
  expect(new Set(issues.map(({ code }) => code))).toEqual(new Set(["command_untrusted"]));
});

test("trusting the project pins no imported command in it", async () => {
  await world.declare("project", { PreToolUse: [group(["./g.sh"], { source: "imported:codex" })] });
  await approveProject(await world.load());
  expect(await codesOf(world.compile(REQUIRED))).toEqual(["command_untrusted"]);
  expect(await codesOf(world.compile())).toEqual(["command_untrusted"]);
});
