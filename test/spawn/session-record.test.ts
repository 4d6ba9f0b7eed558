import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CompiledEntry, HookPlan } from "../../src/compiler/plan.ts";
import {
  fingerprintGates,
  loadSession,
  saveSession,
  sessionsDirectory,
} from "../../src/spawn/session-record.ts";
import { makePlan } from "../render/support.ts";

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "bridle-session-"));
});
afterEach(() => rm(stateDir, { recursive: true, force: true }));

const gate = (name: string): CompiledEntry => ({
  id: name,
  event: "PreToolUse",
  matcher: undefined,
  timeoutMs: 1,
  onFailure: "closed",
  grants: false,
  type: "function",
  name,
  handler: () => null,
});
const planWith = (digest: string, ...names: string[]) => ({
  ...makePlan("claude"),
  digest,
  entries: names.map(gate),
});

async function resume(
  plan: HookPlan = planWith("d", "a", "b"),
  terms: { cwd?: string; allowHookChange?: boolean } = {},
) {
  const recorded = planWith("d", "a", "b");
  const record = {
    provider: "claude",
    cwd: "/w",
    digest: "d",
    gates: fingerprintGates(recorded),
    home: "/h",
  } as const;
  await saveSession(stateDir, "id", record);
  return loadSession({
    stateDir,
    providerSessionId: "id",
    plan,
    cwd: "/w",
    allowHookChange: false,
    ...terms,
  });
}
const mismatch = { issues: [{ code: "resume_mismatch" }] };

test("a session is resumed under the same hooks, in its directory, with its home", async () => {
  expect((await resume()).home).toBe("/h");
});

test("a session is resumed under more blocking hooks", async () => {
  expect((await resume(planWith("other", "a", "b", "c"))).home).toBe("/h");
});

test("a session under fewer blocking hooks is refused", async () => {
  await expect(resume(planWith("other", "a"))).rejects.toMatchObject(mismatch);
});

test("a session under fewer blocking hooks is resumed when the caller says so", async () => {
  expect((await resume(planWith("other", "a"), { allowHookChange: true })).home).toBe("/h");
});

test("a session of another directory is refused", async () => {
  await expect(resume(undefined, { cwd: "/elsewhere" })).rejects.toMatchObject(mismatch);
});

test("a session of another provider is refused", async () => {
  await expect(resume({ ...makePlan("codex"), digest: "d" })).rejects.toBeInstanceOf(Error);
});

test("a record can be read by its owner alone", async () => {
  await resume();
  expect((await stat(join(sessionsDirectory(stateDir), "id.json"))).mode & 0o777).toBe(0o600);
});

test.each(["none", "../id", "", "a/b"])(
  "the session %j has no record and is refused",
  async (providerSessionId) => {
    const loading = loadSession({
      stateDir,
      providerSessionId,
      plan: planWith("d"),
      cwd: "/w",
      allowHookChange: true,
    });
    await expect(loading).rejects.toMatchObject(mismatch);
  },
);

test("a record cut short is refused", async () => {
  await resume();
  await writeFile(join(sessionsDirectory(stateDir), "id.json"), '{"version":1');
  const loading = loadSession({
    stateDir,
    providerSessionId: "id",
    plan: planWith("d"),
    cwd: "/w",
    allowHookChange: true,
  });
  await expect(loading).rejects.toMatchObject(mismatch);
});
