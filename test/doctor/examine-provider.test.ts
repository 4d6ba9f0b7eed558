// What doctor knows of an agent: its proof as compile would find it, how it is logged in, what it has of its own. No agent is started.

import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ProviderBinary } from "../../src/compiler/plan.ts";
import { examineProof } from "../../src/doctor/examine-provider.ts";
import { examineMachine, examineProvider, type Provider } from "../../src/index.ts";
import { matrixDigest } from "../../src/prove/matrix/digest.ts";
import { bytesOf, proofKeyOf } from "../../src/prove/proof-key.ts";
import { proofPath, saveProof } from "../../src/prove/proof-store.ts";
import { identifyFile } from "../../src/trust/identity.ts";
import { makeCase, makeProof } from "../prove/support.ts";
import { makeWorld, type World } from "../trust/support.ts";

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.remove());

async function makeRecord(verdict: "holds" | "fails" | "unclear") {
  const identity = await identifyFile(world.binary);
  const binary: ProviderBinary = { provider: "codex", identity, version: "0.171.0", companions: [] };
  const key = proofKeyOf(binary, { digest: await matrixDigest() });
  const proof = makeProof([makeCase("deny-shell", { verdict })], {
    binary: bytesOf(binary),
    platform: key.platform,
    profile: key.profile,
    bridle: key.bridle,
    matrix: key.matrix,
  });
  return { binary, key, proof };
}

test.each([
  ["holds", "proven"],
  ["fails", "disproven"],
  ["unclear", "unclear"],
] as const)("a record in which a case %s is told as %s", async (verdict, state) => {
  const directory = join(world.root, "proofs");
  const { binary, key, proof } = await makeRecord(verdict);
  expect(await examineProof(binary, directory)).toEqual({ state: "none" });
  await saveProof(directory, key, proof);
  expect(await examineProof(binary, directory)).toEqual({
    state,
    source: "stored",
    provedAt: proof.provedAt,
  });
});

test("a record that does not count is told with its reason", async () => {
  const directory = join(world.root, "proofs");
  const { binary, key } = await makeRecord("holds");
  await world.put("project", `../proofs/${proofPath("", key)}`, "{}", 0o600);
  expect(await examineProof(binary, directory)).toMatchObject({
    state: "none",
    ignored: expect.stringContaining("does not have the shape"),
  });
});

const examine = (provider: Provider, env: NodeJS.ProcessEnv) =>
  examineProvider({ provider, cwd: world.project, env: { HOME: world.home, PATH: "/nowhere", ...env } });

test.each([
  ["claude", {}, { kind: "none" }],
  ["claude", { ANTHROPIC_API_KEY: "" }, { kind: "none" }],
  ["claude", { ANTHROPIC_BASE_URL: "http://x" }, { kind: "none" }],
  ["claude", { CLAUDE_CODE_OAUTH_TOKEN: "t" }, { kind: "variable", name: "CLAUDE_CODE_OAUTH_TOKEN" }],
  ["codex", { ANTHROPIC_API_KEY: "k" }, { kind: "none" }],
  ["codex", { OPENAI_API_KEY: "k" }, { kind: "variable", name: "OPENAI_API_KEY" }],
] as const)("%s with %j logs in by %j", async (provider, env, auth) => {
  expect((await examine(provider, env)).auth).toEqual(auth);
});

test("a login file is named, where its agent has its home, and a variable counts before it", async () => {
  const claude = await world.put("home", ".claude/.credentials.json", "{}");
  const moved = await world.put("home", "codex/auth.json", "{}");
  expect((await examine("claude", {})).auth).toEqual({ kind: "login file", path: claude });
  const env = { CODEX_HOME: join(world.home, "codex") };
  expect((await examine("codex", env)).auth).toEqual({ kind: "login file", path: moved });
  const both = await examine("codex", { ...env, CODEX_API_KEY: "k" });
  expect(both.auth).toEqual({ kind: "variable", name: "CODEX_API_KEY" });
});

test("without a binary the rest is told all the same", async () => {
  await world.put("project", ".codex/hooks.json", "{}");
  const { binary, issues, ambient } = await examine("codex", {});
  expect(binary).toBeUndefined();
  expect(issues.map(({ code }) => code)).toEqual(["provider_not_found"]);
  expect(ambient.map(({ message }) => message)).toEqual([
    `${world.project}/.codex/hooks.json: its hooks will not run`,
  ]);
});

test("a script that is no agent is told as such", async () => {
  const path = await world.guard("project", "codex");
  const { issues } = await examineProvider({ provider: "codex", cwd: world.project, binary: path, env: {} });
  expect(issues.map(({ code }) => code)).toEqual(["provider_unsupported"]);
});

test("the machine tells versions and limits", async () => {
  expect(await examineMachine()).toMatchObject({
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  });
});
