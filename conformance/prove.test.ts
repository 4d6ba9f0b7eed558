// The prover itself: what it keeps, what it leaves alone, and what compile makes of a record.

import { execFile } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { findCompanions } from "../src/compiler/find-binary.ts";
import {
  AgentHooksRefused,
  compileAgentHooks,
  type Proof,
  type ProvenCase,
  type Provider,
} from "../src/index.ts";
import { matrixDigest } from "../src/prove/matrix/digest.ts";
import { sealProof } from "../src/prove/proof.ts";
import { saveProof } from "../src/prove/proof-store.ts";
import { bytesOf, proofKeyOf } from "../src/prove/prove-binary.ts";
import { identifyFile } from "../src/trust/identity.ts";
import { resolveNativeBinary, resolveOlderClaude } from "./binaries.ts";
import { guardTools, onTools } from "./support/guards.ts";
import { CODEX, makeSite, runGuarded, type Site, TOOL_PATH, touch } from "./support/harness.ts";

const run = promisify(execFile);
const main = join(import.meta.dirname, "..", "dist", "cli", "main.js");
const FEW = ["deny-shell", "unguarded-calls-run"];

interface Told {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function bridle(site: Site, args: readonly string[], env: Record<string, string> = {}): Promise<Told> {
  const base = {
    PATH: `${dirname(process.execPath)}:/usr/sbin:${TOOL_PATH}`,
    HOME: site.home,
    NO_COLOR: "1",
  };
  const done = run(process.execPath, [main, ...args], {
    env: { ...base, ...env },
    cwd: site.project,
    timeout: 120_000,
  });
  return done.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Told) => ({ code, stdout, stderr }),
  );
}

/** An `unshare` that fails, as in a container that forbids namespaces. */
const withoutNamespaces = (site: Site) =>
  unshareThat(site, "echo 'unshare: Operation not permitted' >&2\nexit 1");

function unshareThat(site: Site, source: string): Record<string, string> {
  const folder = join(site.root, "no-unshare");
  mkdirSync(folder);
  writeFileSync(
    join(folder, "unshare"),
    `#!/bin/sh
${source}
`,
    { mode: 0o755 },
  );
  return { PATH: `${folder}:${dirname(process.execPath)}:${TOOL_PATH}` };
}

const proofOf = ({ stdout }: Told): Proof => JSON.parse(stdout).proof;
const filesBelow = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }).sort() : [];

describe("bridle prove", () => {
  it("proves codex with one command, keeps a 0600 record and leaves nothing else", async () => {
    const site = makeSite();
    const told = await bridle(site, ["prove", "codex", "--binary", resolveNativeBinary("codex")]);
    expect(told.stdout).toMatch(/^Does codex 0\.171\.0 .* run your guards/);
    expect(told.stdout).toContain("Proven: this binary can be given blocking guards.");
    expect(told.code).toBe(0);
    const [record = ""] = filesBelow(join(site.state, "proofs"));
    expect(statSync(join(site.state, "proofs", record)).mode & 0o777).toBe(0o600);
    const { cases } = JSON.parse(readFileSync(join(site.state, "proofs", record), "utf8")) as Proof;
    expect(cases.length).toBeGreaterThan(10);
    expect(cases.length).toBeLessThanOrEqual(25);
    expect(filesBelow(site.home).filter((name) => !name.startsWith(".local/state/bridle/proofs"))).toEqual([
      ".local",
      ".local/state",
      ".local/state/bridle",
      ".local/state/bridle/prove",
    ]);
  });

  it("says in which network it ran, and holds in both", async () => {
    const site = makeSite();
    const args = ["prove", "codex", "--binary", resolveNativeBinary("codex"), "--json", "--case", ...FEW];
    const inNamespace = proofOf(await bridle(site, args));
    const without = proofOf(await bridle(site, args, withoutNamespaces(site)));
    const canUnshare = await run("unshare", process.getuid?.() === 0 ? ["-n", "true"] : ["-rn", "true"]).then(
      () => true,
      () => false, // this host forbids namespaces
    );
    expect(inNamespace.network).toBe(canUnshare ? "netns" : "env");
    expect(without.network).toBe("env");
    for (const { cases } of [inNamespace, without]) {
      expect(cases).toHaveLength(4);
      expect(cases.filter(({ verdict }) => verdict !== "holds")).toEqual([]);
    }
    expect(filesBelow(join(site.state, "proofs")), "a part is not kept").toEqual([]);
  });

  it("needs no login and reads nobody's: an ambient home that would break it changes nothing", async () => {
    const site = makeSite();
    mkdirSync(join(site.home, ".claude"));
    writeFileSync(
      join(site.home, ".claude", "settings.json"),
      '{"disableAllHooks":true,"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:9"}}',
    );
    const env = { ANTHROPIC_API_KEY: "not-to-be-used", CLAUDE_CODE_SIMPLE: "1" };
    const told = await bridle(
      site,
      ["prove", "claude", "--binary", resolveNativeBinary("claude"), "--case", "deny-shell"],
      env,
    );
    expect(told).toMatchObject({ code: 0 });
  });

  it("names what is wrong with its arguments", async () => {
    const site = makeSite();
    const binary = resolveNativeBinary("codex");
    expect(await bridle(site, ["prove"])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining("claude or codex"),
    });
    expect(await bridle(site, ["prove", "gemini"])).toMatchObject({ code: 64 });
    expect(await bridle(site, ["prove", "codex", "--jobs", "0"])).toMatchObject({ code: 64 });
    expect(await bridle(site, ["prove", "codex", "--binary", "/nowhere"])).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("provider_not_found"),
    });
    expect(await bridle(site, ["prove", "codex", "--binary", binary, "--case", "no-such"])).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("no-such"),
    });
    writeFileSync(site.at("broken.json"), "{");
    expect(await bridle(site, ["prove", "--compare", "broken.json", "none.json"])).toMatchObject({
      code: 78,
      stderr: expect.stringContaining("broken.json"),
    });
    expect(await bridle(site, ["prove", "--compare", "broken.json"])).toMatchObject({ code: 64 });
  });
});

describe("bridle prove in a bad place", () => {
  const few = (binary: string) => ["prove", "codex", "--binary", binary, "--json", "--case", "deny-edit"];

  it.each([
    ["hangs", "sleep 300"],
    ["prints something else", "echo hello"],
    ["prints JSON of another kind", "echo '{}'"],
  ])("goes on without a namespace when unshare %s", async (_what, source) => {
    const site = makeSite();
    const told = await bridle(site, few(resolveNativeBinary("codex")), unshareThat(site, source));
    expect(proofOf(told)).toMatchObject({
      network: "env",
      set: "part",
      cases: [{ verdict: "holds" }, { verdict: "holds" }],
    });
    expect(filesBelow(join(site.state, "prove"))).toEqual([]);
  });

  it.each(["/tmp/bridle-no-place-for-runs", "/proc/nowhere", "/dev/null"])(
    "refuses a state directory in %s at once, and says nothing about the binary",
    async (state) => {
      const site = makeSite();
      const args = ["prove", "codex", "--binary", resolveNativeBinary("codex")];
      const told = await bridle(site, args, { XDG_STATE_HOME: state });
      expect(told).toMatchObject({ code: 78, stdout: "", stderr: expect.stringContaining("run_dir_unsafe") });
      expect(filesBelow(join(state, "bridle", "proofs"))).toEqual([]);
      if (state.startsWith("/tmp/")) rmSync(state, { recursive: true, force: true });
    },
  );

  it("clears away what a killed prover has left", async () => {
    const site = makeSite();
    const left = join(site.state, "prove", `prove-${2 ** 22 + 1}-left`);
    mkdirSync(join(left, "case-1"), { recursive: true });
    await bridle(site, few(resolveNativeBinary("codex")));
    expect(existsSync(left)).toBe(false);
  });

  it("does not take a part of the cases for a proof", async () => {
    const site = makeSite();
    const told = await bridle(site, [
      "prove",
      "claude",
      "--binary",
      resolveOlderClaude(),
      "--case",
      "handler-missing",
    ]);
    expect(told.stdout).toContain("this proves nothing and is not kept");
    expect(told.stdout).not.toContain("Proven");
  });
});

/** A copy of codex with one more byte: the same program, another binary. */
function otherBytes(site: Site): string {
  const original = resolveNativeBinary("codex");
  const copy = join(site.root, "codex-copy");
  copyFileSync(original, copy);
  // Code mode is a program beside it.
  for (const name of readdirSync(dirname(original)).filter((it) => it !== "codex"))
    symlinkSync(join(dirname(original), name), join(site.root, name));
  appendFileSync(copy, "\0");
  chmodSync(copy, 0o755);
  return copy;
}

const refusalOf = (compiling: Promise<unknown>): Promise<AgentHooksRefused> =>
  compiling.then(
    () => expect.unreachable("compiled"),
    (error: unknown) => (error instanceof AgentHooksRefused ? error : Promise.reject(error)),
  );

const gate = guardTools("exit 0");

describe("compile", () => {
  it("proves an unknown binary once, then goes by the record; require refuses before that", async () => {
    const site = makeSite();
    const proofDir = join(site.root, "proofs");
    const seen: string[] = [];
    const options = {
      provider: "codex",
      cwd: site.project,
      binary: otherBytes(site),
      proofDir,
      onProve: ({ case: { id } }: { case: ProvenCase }) => void seen.push(id),
    } as const;
    const refusal = await refusalOf(compileAgentHooks(gate(site), { ...options, prove: "require" }));
    expect(refusal.issues).toMatchObject([
      { code: "provider_unproven", hint: expect.stringContaining("bridle prove codex") },
    ]);
    expect(seen).toEqual([]);

    const first = await compileAgentHooks(gate(site), options);
    expect(first.describe()).toMatchObject({ prove: "proven", proof: { source: "ran" } });
    expect(new Set(seen).size).toBeGreaterThan(5);
    seen.length = 0;
    const second = await compileAgentHooks(gate(site), { ...options, prove: "require" });
    expect(second.describe()).toMatchObject({ prove: "proven", proof: { source: "stored" } });
    expect(second.digest).toBe(first.digest);
    expect(seen).toEqual([]);

    appendFileSync(options.binary, "\0");
    const changed = await refusalOf(compileAgentHooks(gate(site), { ...options, prove: "require" }));
    expect(changed.issues).toMatchObject([{ code: "provider_unproven" }]);
  });

  it("takes a binary with another program beside it for another binary", async () => {
    const site = makeSite();
    const folder = join(site.root, "swapped");
    mkdirSync(folder);
    const original = resolveNativeBinary("codex");
    copyFileSync(original, join(folder, "codex"));
    writeFileSync(join(folder, "codex-code-mode-host"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const options = { provider: "codex", cwd: site.project, prove: "require" } as const;
    const shipped = await compileAgentHooks(gate(site), {
      ...options,
      binary: original,
      proofDir: join(site.root, "none"),
    });
    expect(shipped.describe()).toMatchObject({ prove: "proven", proof: { source: "shipped" } });
    const swapped = compileAgentHooks(gate(site), { ...options, binary: join(folder, "codex") });
    expect((await refusalOf(swapped)).issues).toMatchObject([{ code: "provider_unproven" }]);
  });

  it("needs no proof for what does not block", async () => {
    const site = makeSite();
    const hooks = { SessionEnd: [{ hooks: [{ type: "function" as const, handler: () => undefined }] }] };
    const token = await compileAgentHooks(hooks, {
      provider: "codex",
      cwd: site.project,
      binary: otherBytes(site),
      prove: "require",
    });
    expect(token.describe().prove).toBe("not_needed");
  });

  it("ends a proof that is no longer wanted, with everything it had started", async () => {
    const site = makeSite();
    const stop = new AbortController();
    const compiling = compileAgentHooks(gate(site), {
      provider: "codex",
      cwd: site.project,
      binary: otherBytes(site),
      proofDir: join(site.root, "proofs"),
      signal: stop.signal,
      onProve: () => stop.abort(new Error("no longer wanted")),
    });
    await expect(compiling).rejects.toThrow("no longer wanted");
    expect(filesBelow(join(site.root, "proofs")).filter((name) => name.endsWith(".json"))).toEqual([]);
    expect(copiesRunning(site)).toEqual([]);
  });
});

function copiesRunning(site: Site): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return (
        /^\d+$/.test(name) &&
        readFileSync(`/proc/${name}/cmdline`, "utf8").startsWith(join(site.root, "codex-copy"))
      );
    } catch {
      return false; // ended meanwhile
    }
  });
}

/** A sealed record for the pinned binary in which some cases have another verdict. */
async function recordWith(
  provider: Provider,
  proofDir: string,
  parts: Record<string, Partial<ProvenCase>>,
): Promise<void> {
  const identity = await identifyFile(resolveNativeBinary(provider));
  const companions = await findCompanions(provider, identity.path);
  const bytes = { provider, identity, version: "0.171.0", companions };
  const key = proofKeyOf(bytes, { digest: await matrixDigest() });
  const cases = Object.entries(parts).map(
    ([id, part]): ProvenCase => ({
      id,
      column: provider,
      title: id,
      kind: "blocks",
      event: "PreToolUse",
      rule: ["Dv1-5"],
      core: true,
      required: true,
      verdict: "holds",
      observed: "seen",
      durationMs: 1,
      ...part,
    }),
  );
  const proof = sealProof({
    format: 1,
    provider,
    version: "0.171.0",
    binary: bytesOf(bytes),
    platform: key.platform,
    profile: key.profile,
    bridle: key.bridle,
    matrix: key.matrix,
    set: "core",
    network: "env",
    provedAt: new Date().toISOString(),
    durationMs: 1,
    cases,
  });
  await saveProof(proofDir, key, proof);
}

describe("a record that disproves", () => {
  it("refuses, naming the cases", async () => {
    const site = makeSite();
    const proofDir = join(site.root, "proofs");
    await recordWith("codex", proofDir, {
      "deny-shell": { verdict: "fails", observed: "file happened: it ran" },
      "deny-edit": {},
    });
    const options = {
      provider: "codex",
      cwd: site.project,
      binary: resolveNativeBinary("codex"),
      proofDir,
    } as const;
    const { issues } = await refusalOf(compileAgentHooks(gate(site), options));
    expect(issues).toMatchObject([
      { code: "provider_disproven", path: "binary: deny-shell", message: expect.stringContaining("it ran") },
    ]);
    const off = await compileAgentHooks(gate(site), { ...options, prove: "off" });
    expect(off.describe().prove).toBe("off");
  });

  it("makes a rewrite that does not land a denial with the wanted input", async () => {
    const site = makeSite();
    const proofDir = join(site.root, "proofs");
    const downgrade = { to: "rewrite-to-deny" as const, proven_by: ["deny-shell"] };
    await recordWith("codex", proofDir, {
      "deny-shell": {},
      "rewrite-shell": { verdict: "fails", downgrade },
    });
    const updatedInput = { command: `touch '${site.at("rewritten.txt")}'` };
    const { result, told } = await runGuarded({
      column: CODEX,
      site,
      compile: { prove: "auto", proofDir },
      declaration: () =>
        onTools({
          type: "function",
          handler: () => ({ hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput } }),
        }),
      script: (it) => [{ tools: [touch(it, "happened.txt")] }],
    });
    expect(site.has("happened.txt")).toBe(false);
    expect(site.has("rewritten.txt")).toBe(false);
    expect(told().includes(`Call again with ${JSON.stringify(updatedInput)}`)).toBe(true);
    expect(result).toMatchObject({ outcome: "success", prove: "proven", hooks: { denied: 1 } });
  });

  it("takes subagents away where they escape", async () => {
    const site = makeSite();
    const proofDir = join(site.root, "proofs");
    const downgrade = { to: "subagents-off" as const, proven_by: ["subagents-off"] };
    await recordWith("codex", proofDir, {
      "subagents-off": {},
      "subagent-guarded": { verdict: "fails", downgrade },
    });
    const { server } = await runGuarded({
      column: CODEX,
      site,
      compile: { prove: "auto", proofDir },
      declaration: gate,
      script: (it) => [{ tools: [touch(it, "happened.txt")] }],
    });
    expect(site.has("happened.txt")).toBe(true);
    expect(server.offeredTools().filter((name) => /agent/.test(name))).toEqual([]);
  });
});
