// A sample of what test/differential holds, with the effect that the real CLIs show: for each behaviour of a guard, what a host decides is what
// happens to a real tool call. One run of each CLI makes all the calls, one after another.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compileHostHooks, createHookHost } from "../src/host/index.ts";
import type { HookDeclaration } from "../src/index.ts";
import { BOTH, makeSite, runGuarded, type Site } from "./support/harness.ts";

interface Sample {
  readonly name: string;
  /** Body of a `case` in the guard; `$1` is not used, the envelope was read. */
  readonly act: string;
}

const json = (fields: object) =>
  `printf %s '${JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse", ...fields } })}'`;

const SAMPLES: readonly Sample[] = [
  { name: "silence", act: "exit 0" },
  { name: "exit-2", act: "echo no >&2; exit 2" },
  { name: "deny", act: json({ permissionDecision: "deny", permissionDecisionReason: "not this" }) },
  { name: "crash", act: "exit 1" },
  { name: "killed", act: "kill -9 $$" },
  { name: "ask", act: json({ permissionDecision: "ask" }) },
  { name: "unknown", act: json({ permissionDecision: "maybe" }) },
  { name: "allow", act: json({ permissionDecision: "allow" }) },
  { name: "chatter", act: "echo checking" },
  { name: "brace", act: "echo 'checking {'" },
  { name: "misplaced", act: `printf %s '{"permissionDecision":"deny"}'` },
  { name: "rewrite", act: json({ updatedInput: { command: "touch rewrite.rewritten" } }) },
  { name: "no-object", act: json({ updatedInput: "touch x" }) },
  { name: "context", act: json({ additionalContext: "CONTEXT-OF-A-GUARD" }) },
];

const GUARD = `read -r line
for name in ${SAMPLES.map(({ name }) => name).join(" ")}; do
  case $line in *"touch $name.ran"*) break ;; esac
done
case $name in
${SAMPLES.map(({ name, act }) => `${name}) ${act} ;;`).join("\n")}
esac`;

const declaration = (site: Site): HookDeclaration => ({
  PreToolUse: [{ matcher: "kind:shell", hooks: [{ type: "command", command: site.guard(GUARD) }] }],
});

/** `ran`, `rewritten` or `stopped`. */
const effectOf = (site: Site, name: string) =>
  site.has(`${name}.ran`) ? "ran" : site.has(`${name}.rewritten`) ? "rewritten" : "stopped";

async function playInHost(): Promise<Map<string, string>> {
  const site = makeSite();
  const host = createHookHost({ hooks: await compileHostHooks(declaration(site), { cwd: site.project }) });
  host.tools.register({
    name: "Bash",
    kind: "shell",
    run: ({ command }: { command: string }) => writeFileSync(site.at(command.slice("touch ".length)), ""),
  });
  for (const { name } of SAMPLES) await host.tools.invoke("Bash", { command: `touch ${name}.ran` });
  await host.close();
  return new Map(SAMPLES.map(({ name }) => [name, effectOf(site, name)]));
}

describe.each(BOTH)("$mode", (column) => {
  it("does to each call what a host decides about it", async () => {
    const host = await playInHost();
    expect(new Set(host.values())).toEqual(new Set(["ran", "rewritten", "stopped"]));
    const run = await runGuarded({
      column,
      declaration,
      script: () => [
        ...SAMPLES.map(({ name }) => ({ tools: [{ kind: "shell" as const, command: `touch ${name}.ran` }] })),
        { text: "done" },
      ],
    });
    expect(run.result.outcome).toBe("success");
    const seen = new Map(SAMPLES.map(({ name }) => [name, effectOf(run.site, name)]));
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(host));
    expect(existsSync(join(run.site.project, "x"))).toBe(false);
    expect(run.told()).toContain("CONTEXT-OF-A-GUARD");
  });
});
