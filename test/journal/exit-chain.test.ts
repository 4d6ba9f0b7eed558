// What of an agent_exit chain is written down, and how a token gives back what is not.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { planOf } from "../../src/compiler/token.ts";
import { compileAgentHooks } from "../../src/index.ts";
import { describeExitChain, resolveExitChain } from "../../src/journal/exit-chain.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const SECRET = "another-secret-value";

/** A plan with one command of `agent_exit`. */
async function planWith(words: readonly string[], env: Record<string, string> = {}) {
  const program = join(place.home, "tell");
  await writeFile(program, "#!/bin/sh\n");
  await chmod(program, 0o755);
  const { binary } = await createFakeProvider({
    provider: "claude",
    script: { steps: [] },
    directory: place.home,
  });
  const hooks = await compileAgentHooks(
    { agent_exit: [{ hooks: [{ type: "command", command: [program, ...words], env }] }] },
    { provider: "claude", cwd: place.cwd, binary, prove: "off" },
  );
  return planOf(hooks);
}

const write = (plan: Awaited<ReturnType<typeof planWith>>) =>
  describeExitChain(plan, createRedactor({ env: {}, values: [SECRET] }));

test("a command is written down so that it can be run without its token", async () => {
  const plan = await planWith(["a", "b c"]);
  const { entries, problems } = resolveExitChain(write(plan), [], {});
  expect(problems).toEqual([]);
  const [entry] = plan.entries;
  expect(entries).toEqual([entry]);
});

test("words with a known secret are not written, and only a token gives them back", async () => {
  const plan = await planWith(["--token", SECRET]);
  const chain = write(plan);
  expect(JSON.stringify(chain)).not.toContain(SECRET);
  expect(resolveExitChain(chain, [], {}).problems).toEqual([expect.stringContaining("secret")]);
  expect(resolveExitChain(chain, [plan], {}).entries).toEqual(plan.entries);
});

test("values of variables are not written; a token or the environment gives them back", async () => {
  const plan = await planWith([], { NAME: "value-of-it" });
  const chain = write(plan);
  expect(JSON.stringify(chain)).not.toContain("value-of-it");
  expect(resolveExitChain(chain, [], {}).problems).toEqual([expect.stringContaining("NAME")]);
  expect(resolveExitChain(chain, [plan], {}).entries).toEqual(plan.entries);
  expect(resolveExitChain(chain, [], { NAME: "other" }).entries).toMatchObject([{ env: { NAME: "other" } }]);
});

test("a token with other words is not taken for the same", async () => {
  const chain = write(await planWith(["one"], { NAME: "x" }));
  const other = await planWith(["two"], { NAME: "x" });
  expect(resolveExitChain(chain, [other], {}).problems).toHaveLength(1);
});

test("a variable that is read from another is written down by both names, and read again", async () => {
  const plan = await planWith([], { NAME: "env:OTHER" });
  const chain = write(plan);
  expect(chain[0]).toMatchObject({ envNames: ["NAME"], envReferences: { NAME: "env:OTHER" } });
  const without = expect.stringContaining("OTHER");
  for (const plans of [[], [plan]]) {
    expect(resolveExitChain(chain, plans, { OTHER: "v" }).entries).toMatchObject([{ env: { NAME: "v" } }]);
    expect(resolveExitChain(chain, plans, { NAME: "not this one" }).problems).toEqual([without]);
  }
});
