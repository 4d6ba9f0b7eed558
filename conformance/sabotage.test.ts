// Things that go wrong, or are made to go wrong, between a declared guard and the agent. Each is refused, ends as `unenforced`, or makes
// the proof fail; none ends as a success.

import { appendFileSync, chmodSync, copyFileSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { compileAgentHooks, type Provider, type RunResult } from "../src/index.ts";
import { matrixDigest } from "../src/prove/matrix/digest.ts";
import { sealProof } from "../src/prove/proof.ts";
import { loadProof, saveProof } from "../src/prove/proof-store.ts";
import { proofKeyOf } from "../src/prove/prove-binary.ts";
import { identifyFile } from "../src/trust/identity.ts";
import { resolveNativeBinary } from "./binaries.ts";
import { breakBuild, type Mutation, proveWith } from "./support/broken-build.ts";
import { guardTools } from "./support/guards.ts";
import { BOTH, CLAUDE, CODEX, makeSite, runGuarded, shell, touch } from "./support/harness.ts";

interface BrokenPart extends Mutation {
  readonly what: string;
  readonly provider: Provider;
  readonly cases: readonly string[];
}

const SHIM = "broker/shim.js";
const broken = (
  what: string,
  mutation: Mutation,
  providers: readonly Provider[] = ["claude", "codex"],
  cases = ["deny-shell"],
) => providers.map((provider): BrokenPart => ({ what, provider, cases, ...mutation }));

const BROKEN_BUILDS: readonly BrokenPart[] = [
  ...broken("the shim always prints an allow", {
    file: SHIM,
    from: "PATH=/usr/bin:/bin LC_ALL=C",
    to: `printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; exit 90\nPATH=/usr/bin:/bin LC_ALL=C`,
  }),
  ...broken("the shim exits with the admitting code, asking nobody", {
    file: SHIM,
    from: "PATH=/usr/bin:/bin LC_ALL=C",
    to: "exit 90\nPATH=/usr/bin:/bin LC_ALL=C",
  }),
  ...broken(
    "the shim exits 0 in silence",
    { file: SHIM, from: "PATH=/usr/bin:/bin LC_ALL=C", to: "exit 0\nPATH=/usr/bin:/bin LC_ALL=C" },
    ["claude", "codex"],
    ["parallel-calls", "rewrite-shell"],
  ),
  ...broken(
    "the broker never answers",
    {
      file: "broker/broker.js",
      from: "async function reply(call, given) {",
      to: "async function reply(call, given) { return;",
    },
    ["claude"],
    ["rewrite-shell"],
  ),
  ...broken(
    "every verdict is encoded as silence",
    { file: "render/codex/verdict.js", from: /if \(verdict\.decision === "deny"\)/, to: "if (false)" },
    ["codex"],
  ),
  ...broken(
    "every verdict is encoded as silence",
    { file: "render/claude/verdict.js", from: /if \(verdict\.decision === "deny"\)/, to: "if (false)" },
    ["claude"],
  ),
  ...broken(
    "codex is not told to apply a rewrite",
    { file: "render/codex/verdict.js", from: 'specific.permissionDecision = "allow";', to: "" },
    ["codex"],
    ["rewrite-shell"],
  ),
  ...broken(
    "claude's gates carry no onFailure",
    { file: "render/claude/settings.js", from: '{ onFailure: "block" }', to: "{}" },
    ["claude"],
    ["handler-killed"],
  ),
  ...broken(
    "a lost shim looks like an answer",
    {
      file: "render/handler-form.js",
      from: "*) echo 'bridle: guard failed; denied' >&2; exit 2 ;;",
      to: "*) exit 0 ;;",
    },
    ["claude", "codex"],
    ["handler-empty"],
  ),
  ...broken(
    "the trust hash is off by one",
    {
      file: "render/codex/hooks.js",
      from: /createHash\("sha256"\)\.update\(JSON/,
      to: 'createHash("sha256").update(" ").update(JSON',
    },
    ["codex"],
  ),
  ...broken(
    "claude's settings file is cut short",
    {
      file: "render/claude/arguments.js",
      from: "JSON.stringify(renderSettings(plan, context))",
      to: "JSON.stringify(renderSettings(plan, context)).slice(0, -5)",
    },
    ["claude"],
  ),
  ...broken(
    "hooks are switched off by a flag",
    {
      file: "render/codex/arguments.js",
      from: 'set("features.hooks", true',
      to: 'set("features.hooks", false',
    },
    ["codex"],
  ),
  ...broken(
    "hooks are switched off in the settings",
    {
      file: "render/claude/settings.js",
      from: "hooks: renderHooks(plan, shimPath),",
      to: "hooks: renderHooks(plan, shimPath), disableAllHooks: true,",
    },
    ["claude"],
  ),
  ...broken(
    "ambient settings are let in",
    {
      file: "render/claude/arguments.js",
      from: '"--setting-sources="',
      to: '"--setting-sources=user,project,local"',
    },
    ["claude"],
    ["ambient-hooks-of-claude"],
  ),
];

describe("a broken build", () => {
  it.each(BROKEN_BUILDS.map((part) => [part.what, part.provider, part] as const))(
    "in which %s does not pass its proof of %s",
    async (_what, provider, { cases, ...mutation }) => {
      const { code, proof, stderr } = await proveWith(breakBuild(mutation), provider, cases);
      expect(proof?.cases.length, stderr).toBeGreaterThan(0);
      expect(code).not.toBe(0);
    },
    120_000,
  );
});

/** What counts: the call did not happen, and nobody was told that all went well. */
function expectCaught(result: RunResult, outcome = "unenforced"): void {
  expect(result.outcome).toBe(outcome);
}

describe.each(BOTH)("$mode: during a run", (column) => {
  it("the shim is overwritten by one that admits everything", async () => {
    const { result, site } = await runGuarded({
      column,
      declaration: guardTools("grep -q forbidden && exit 2; exit 0"),
      script: (it) => [
        {
          tools: [
            shell(
              `for shim in '${it.state}'/run/*/s/shim; do chmod 700 "$shim"; printf 'exit 90\\n' > "$shim"; done; touch '${it.at("overwritten.txt")}'`,
            ),
          ],
        },
        { tools: [touch(it, "forbidden.txt")] },
        { tools: [touch(it, "later.txt")] },
      ],
    });
    expect(site.has("overwritten.txt")).toBe(true);
    expect(site.has("later.txt")).toBe(false);
    expectCaught(result);
  });

  it("the guard is replaced by another one with the old time stamps", async () => {
    const { result, site } = await runGuarded({
      column,
      declaration: guardTools("grep -q forbidden && exit 2; exit 0"),
      script: (it) => [
        {
          tools: [
            shell(
              `cd '${it.project}' && touch -r guard.sh stamp && printf 'exit 0\\n' > guard.sh && touch -r stamp guard.sh`,
            ),
          ],
        },
        { tools: [touch(it, "forbidden.txt")] },
      ],
    });
    expect(site.has("stamp")).toBe(true);
    expect(site.has("forbidden.txt")).toBe(false);
    expectCaught(result);
  });

  it("the clock jumps ten years ahead and back: the guard holds", async () => {
    const real = Date.now.bind(Date);
    let shift = 0;
    vi.spyOn(Date, "now").mockImplementation(() => real() + shift);
    try {
      const { result, site } = await runGuarded({
        column,
        declaration: guardTools("grep -q forbidden && exit 2; exit 0"),
        script: (it) => [{ tools: [touch(it, "forbidden.txt")] }, { tools: [touch(it, "fine.txt")] }],
        onRun: () => {
          shift = 10 * 365 * 86_400_000;
          setTimeout(() => {
            shift = -shift;
          }, 200).unref();
        },
      });
      expect(site.has("forbidden.txt")).toBe(false);
      expect(site.has("fine.txt")).toBe(true);
      expect(result).toMatchObject({ outcome: "success", hooks: { denied: 1, late: 0 } });
    } finally {
      vi.restoreAllMocks();
    }
  });
});

describe("between compile and spawn", () => {
  it("another program takes the binary's place", async () => {
    const place = makeSite();
    const copy = join(place.root, "codex");
    copyFileSync(resolveNativeBinary("codex"), copy);
    chmodSync(copy, 0o755);
    const { refusal, site } = await runGuarded({
      column: CODEX,
      binary: () => copy,
      declaration: guardTools("exit 2"),
      betweenCompileAndSpawn: () => {
        const { atime, mtime } = { atime: new Date(0), mtime: new Date(0) };
        writeFileSync(copy, "#!/bin/sh\nexit 0\n");
        utimesSync(copy, atime, mtime);
      },
      script: (it) => [{ tools: [touch(it, "happened.txt")] }],
    });
    expect(refusal?.issues).toMatchObject([{ code: "provider_changed" }]);
    expect(site.has("happened.txt")).toBe(false);
  });
});

describe("a record", () => {
  const compileWith = async (proofDir: string, binary: string) => {
    const site = makeSite();
    const options = { provider: "codex", cwd: site.project, binary, prove: "require", proofDir } as const;
    return compileAgentHooks(guardTools("exit 0")(site), options);
  };

  /** A sealed record for a copy of codex that no shipped record covers. */
  async function recorded(provedAt = new Date().toISOString()) {
    const { root } = makeSite();
    const binary = join(root, "codex");
    copyFileSync(resolveNativeBinary("codex"), binary);
    appendFileSync(binary, "\0");
    chmodSync(binary, 0o755);
    const identity = await identifyFile(binary);
    const key = proofKeyOf(
      { provider: "codex", identity, version: "0.171.0", companions: [] },
      { digest: await matrixDigest() },
    );
    const part = { set: "core", network: "env", durationMs: 1, version: "0.171.0", format: 1 } as const;
    const proof = sealProof({
      ...part,
      provider: "codex",
      binary: { sha256: identity.sha256, size: identity.size, companions: [] },
      platform: key.platform,
      profile: key.profile,
      bridle: key.bridle,
      matrix: key.matrix,
      provedAt,
      cases: [],
    });
    const proofDir = join(root, "proofs");
    const path = await saveProof(proofDir, key, proof);
    return { binary, proofDir, path, key };
  }

  it("that is whole is taken", async () => {
    const { binary, proofDir } = await recorded();
    expect((await compileWith(proofDir, binary)).describe().prove).toBe("proven");
  });

  it("that was edited is none", async () => {
    const { binary, proofDir, path, key } = await recorded();
    writeFileSync(path, readFileSync(path, "utf8").replace('"network": "env"', '"network": "netns"'));
    expect((await loadProof(proofDir, key)).proof).toBeUndefined();
    await expect(compileWith(proofDir, binary)).rejects.toMatchObject({
      issues: [{ code: "provider_unproven", message: expect.stringContaining("changed after") }],
    });
  });

  it("from a clock that was ahead is none", async () => {
    const { binary, proofDir } = await recorded("2999-01-01T00:00:00.000Z");
    await expect(compileWith(proofDir, binary)).rejects.toMatchObject({
      issues: [{ code: "provider_unproven", message: expect.stringContaining("future") }],
    });
  });

  it("of a binary that got other bytes since is none", async () => {
    const { binary, proofDir } = await recorded();
    appendFileSync(binary, "\0");
    await expect(compileWith(proofDir, binary)).rejects.toMatchObject({
      issues: [{ code: "provider_unproven" }],
    });
  });
});

describe("flags that would switch hooks off", () => {
  it.each([
    [CODEX, ["--disable", "hooks"]],
    [CODEX, ["-c", "features.hooks=false"]],
    [CODEX, ["--dangerously-bypass-hook-trust"]],
    [CLAUDE, ["--bare"]],
    [CLAUDE, ["--safe-mode"]],
    [CLAUDE, ["--settings", "/dev/null"]],
  ] as const)("%o %j is refused", async (column, extraArgs) => {
    const { refusal, site } = await runGuarded({
      column,
      declaration: guardTools("exit 2"),
      options: () => ({ extraArgs }),
      script: (it) => [{ tools: [touch(it, "happened.txt")] }],
    });
    expect(refusal?.issues[0]).toMatchObject({ code: "argument_conflict" });
    expect(site.has("happened.txt")).toBe(false);
  });
});
