// What was compiled is what runs: a guard or a provider binary that changed in between refuses, and the prompt is never sent.

import { copyFileSync, linkSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RenderedHooks } from "../src/index.ts";
import { resolveNativeBinary } from "./binaries.ts";
import { DENY, guardTools } from "./support/guards.ts";
import { BOTH, leftRunDirectories, runGuarded, type Site, touch } from "./support/harness.ts";

const script = (site: Site) => [{ tools: [touch(site, "happened.txt")] }];

describe.each(BOTH)("$mode: between compile and spawn", (column) => {
  it.each([
    { how: "deleted", change: (site: Site) => rmSync(site.at("guard.sh")) },
    { how: "changed", change: (site: Site) => writeFileSync(site.at("guard.sh"), "exit 0\n") },
  ])("a guard that is $how refuses", async ({ change }) => {
    const exits: unknown[] = [];
    const run = await runGuarded({
      column,
      script,
      declaration: (site) => ({
        ...guardTools(DENY)(site),
        agent_exit: [{ hooks: [{ type: "function", handler: (envelope) => void exits.push(envelope) }] }],
      }),
      betweenCompileAndSpawn: change,
    });
    expect(run.refusal?.issues).toMatchObject([{ code: "command_changed", path: "PreToolUse[0].hooks[0]" }]);
    expect(run.server.requests).toEqual([]);
    expect(run.site.has("happened.txt")).toBe(false);
    expect(leftRunDirectories(run.site)).toEqual([]);
    expect(exits).toEqual([]);
  });

  it("a guard written again with the same bytes is fine", async () => {
    const run = await runGuarded({
      column,
      script,
      declaration: guardTools(DENY),
      betweenCompileAndSpawn: (site) => void site.guard(DENY),
    });
    expect(run.result.hooks).toMatchObject({ denied: 1 });
    expect(run.site.has("happened.txt")).toBe(false);
  });
});

describe.each(BOTH)("$mode: the provider's binary", (column) => {
  it("that is another one after compile refuses", async () => {
    const original = resolveNativeBinary(column.provider);
    const run = await runGuarded({
      column,
      script,
      declaration: guardTools(DENY),
      // A hard link costs nothing, and replacing it leaves the original alone.
      prepare: (site) => linkOrCopy(original, `${site.root}/cli`),
      binary: (site) => `${site.root}/cli`,
      betweenCompileAndSpawn: (site) => {
        rmSync(`${site.root}/cli`);
        copyFileSync("/bin/true", `${site.root}/cli`);
      },
    });
    expect(run.refusal?.issues).toMatchObject([{ code: "provider_changed" }]);
    expect(run.server.requests).toEqual([]);
  });
});

describe.each(BOTH)("$mode: a token that was not minted", (column) => {
  const forgeries: { how: string; forge: (token: RenderedHooks) => unknown }[] = [
    { how: "a spread copy", forge: (token) => ({ ...token }) },
    { how: "an heir by prototype", forge: (token) => Object.create(token) },
    { how: "a JSON round trip", forge: (token) => JSON.parse(JSON.stringify(token)) },
    { how: "an object of its class", forge: () => Object.create(RenderedHooks.prototype) },
    { how: "nothing", forge: () => undefined },
  ];
  it.each(forgeries)("$how refuses, and nothing starts", async ({ forge }) => {
    let forged: unknown;
    const run = await runGuarded({
      column,
      script,
      declaration: guardTools(DENY),
      betweenCompileAndSpawn: (_site, hooks) => {
        forged = forge(hooks);
      },
      options: () => ({ hooks: forged as RenderedHooks }),
    });
    expect(run.refusal?.issues).toMatchObject([{ code: "token_forged" }]);
    expect(run.server.requests).toEqual([]);
    expect(run.receipts).toEqual([]);
    expect(leftRunDirectories(run.site)).toEqual([]);
  });

  it("a subclass cannot be built", () => {
    class Forged extends (RenderedHooks as unknown as new (...args: unknown[]) => object) {}
    expect(() => new Forged(Symbol("mint"), {})).toThrow(/token_forged/);
  });
});

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // another file system
  }
}
