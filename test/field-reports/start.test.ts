// Reports of how a prompt, an argument, a directory and a login get to the agent.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FakeScript } from "../../src/testkit/index.ts";
import * as fakes from "../testkit/support.ts";
import { behind, placeOfEachTest } from "./support.ts";

const at = placeOfEachTest();

const ECHO: FakeScript = { steps: [{ text: "{{prompt}}" }] };

test.each(["claude", "codex"] as const)(
  "field report 16: %s gets the prompt and then the end of its stdin",
  async (provider) => {
    // The fake of claude leaves when its stdin ends, that of codex starts its turn then.
    const { result } = await fakes.play(at.place, { provider, script: ECHO });
    expect(result).toMatchObject({ outcome: "success", reason: "completed", finalText: "hello" });
  },
);

const LONG_PROMPT = { prompt: "p".repeat(1 << 20) };

test("field report 22: an agent that is gone before it has read a prompt of 1 MiB is spawn_exited_early, with its stderr", async () => {
  // Three requests are answered. Of the prompt one byte is read: most of it is still to be written when the reader goes.
  const leave = 'sed -u 3q | "$FAKE" "$@"; head -c 1 >/dev/null; echo out of order >&2; exit 1';
  const { result } = await fakes.play(at.place, {
    provider: "claude",
    script: ECHO,
    wrap: behind(at.place, leave),
    options: LONG_PROMPT,
  });
  expect(result).toMatchObject({ outcome: "failed", reason: "spawn_exited_early: exit 1" });
  expect(result.stderrTail).toContain("out of order");
});

test.each(["claude", "codex"] as const)(
  "field report 22: %s that does nothing but exit 1 is refused with what it said, and has seen no prompt",
  async (provider) => {
    const { issues } = await fakes.refusalOf(at.place, {
      provider,
      script: ECHO,
      wrap: behind(at.place, "echo nothing works here >&2; exit 1"),
      options: LONG_PROMPT,
    });
    expect(issues).toMatchObject([
      { code: "attestation_failed", message: expect.stringContaining("nothing works here") },
    ]);
  },
);

test("field report 24: an extra argument of 131,072 bytes is refused by name", async () => {
  const { issues } = await fakes.refusalOf(at.place, {
    provider: "claude",
    script: ECHO,
    options: { extraArgs: [`--debug=${"x".repeat(131_072)}`] },
  });
  expect(issues).toMatchObject([{ code: "option_invalid", path: "extraArgs[0]" }]);
});

test.each(["claude", "codex"] as const)(
  "field report 24: a prompt of 131,072 bytes reaches %s, and never stands on argv",
  async (provider) => {
    const { place } = at;
    const prompt = `secret-${"p".repeat(131_072)}`;
    const { starting } = await fakes.start(place, {
      provider,
      script: { steps: [{ text: "{{prompt}}" }, { sins: ["hang"] }] },
      options: { prompt, deadlines: { stopMs: 200 } },
    });
    const run = await starting;
    const seen: string[] = [];
    for await (const event of run) {
      if (event.type !== "message") continue;
      seen.push(event.text, await readFile(`/proc/${run.pid}/cmdline`, "latin1"));
      void run.stop("enough");
    }
    expect(seen[0]).toBe(prompt);
    expect(seen[1]).toContain("fake");
    expect(seen[1]).not.toContain("secret");
  },
);

test.each([undefined, "", "relative", "/nowhere/at/all"])(
  "field report 55: cwd %j is refused: it has no default",
  async (cwd) => {
    const { issues } = await fakes.refusalOf(at.place, {
      provider: "claude",
      script: ECHO,
      options: { cwd: cwd as string },
    });
    expect(issues).toContainEqual(expect.objectContaining({ code: "option_invalid", path: "cwd" }));
  },
);

test("field report 57: two codex runs at once have homes of their own and one login, by a link", async () => {
  const { place } = at;
  const login = join(place.home, ".codex", "auth.json");
  await mkdir(join(place.home, ".codex"));
  await writeFile(login, '{"tokens":{}}');
  const shell = 'echo "$CODEX_HOME $(readlink "$CODEX_HOME/auth.json")"; echo new >"$CODEX_HOME/auth.json"';
  const script: FakeScript = { steps: [{ tools: [{ shell }] }, { text: "done" }] };
  const runs = await Promise.all(
    [0, 1].map(() => fakes.play(place, { provider: "codex", script, options: { configHome: "user" } })),
  );
  const said = runs
    .flatMap(({ events }) => events)
    .flatMap((event) => (event.type === "tool_result" ? [String(event.output).trim().split(" ")] : []));
  expect(said.map(([, target]) => target)).toEqual([login, login]);
  expect(new Set(said.map(([home]) => home)).size).toBe(2);
  // What one of them writes is the user's login, not a copy that goes stale.
  expect(await readFile(login, "utf8")).toBe("new\n");
});
