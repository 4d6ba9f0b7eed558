// Big things come through, endless things end, on the real CLIs.

import { describe, expect, it } from "vitest";
import { guardTools } from "./support/guards.ts";
import { BOTH, CLAUDE, CODEX, runGuarded, runUnguarded, type Site, shell, touch } from "./support/harness.ts";

const MEGABYTE = 1_000_000;

describe.each(BOTH)("$mode: sizes", (column) => {
  // The codex CLI itself takes no more than 1 MiB of characters.
  const promptBytes = column === CLAUDE ? 10 * MEGABYTE : MEGABYTE;

  it(`hands over a prompt of ${promptBytes} bytes whole`, async () => {
    const prompt = `BEGIN ${"x".repeat(promptBytes)} END`;
    let envelopeLength = 0;
    const run = await runGuarded({
      column,
      prompt,
      script: (site) => [{ tools: [touch(site, "happened.txt")] }],
      declaration: () => ({
        UserPromptSubmit: [
          {
            hooks: [
              {
                type: "function",
                handler: (envelope) => {
                  envelopeLength = String(envelope.prompt).length;
                  return undefined;
                },
              },
            ],
          },
        ],
      }),
    });
    expect(run.result).toMatchObject({ outcome: "success" });
    expect(run.site.has("happened.txt")).toBe(true);
    expect(run.server.userTexts().some((text) => text.includes(prompt))).toBe(true);
    expect(envelopeLength).toBeGreaterThanOrEqual(prompt.length);
  });

  it("guards a call after an output line of 10 MB", async () => {
    const script = (site: Site) => [
      { tools: [shell(`head -c ${10 * MEGABYTE} /dev/zero | tr '\\000' x; touch '${site.at("big.txt")}'`)] },
      { tools: [touch(site, "forbidden.txt")] },
    ];
    const declaration = guardTools(`case $(cat) in *forbidden*) echo no >&2; exit 2 ;; esac`);
    const run = await runGuarded({ column, script, declaration });
    expect(run.result).toMatchObject({ outcome: "success" });
    expect(run.site.has("big.txt")).toBe(true);
    expect(run.site.has("forbidden.txt")).toBe(false);

    const control = await runUnguarded({ column, script });
    expect(control.site.has("forbidden.txt")).toBe(true);
  });

  it("guards a command of 90 KB, nearly the most one argument may hold", async () => {
    const script = (site: Site) => [
      { tools: [shell(`: ${"x".repeat(90_000)}; touch '${site.at("happened.txt")}'`)] },
    ];
    const declaration = guardTools(`case $(cat) in *happened.txt*) echo no >&2; exit 2 ;; esac`);
    const run = await runGuarded({ column, script, declaration });
    expect(run.site.has("happened.txt")).toBe(false);

    const control = await runUnguarded({ column, script });
    expect(control.site.has("happened.txt")).toBe(true);
  });
});

describe("codex: a prompt beyond its own limit", () => {
  it("fails the run, and no model is asked", async () => {
    const script = (site: Site) => [{ tools: [touch(site, "happened.txt")] }];
    const run = await runUnguarded({ column: CODEX, script, prompt: "x".repeat(10 * MEGABYTE) });
    expect(run.result.outcome).toBe("failed");
    expect(run.result.stderrTail).toContain("maximum length of 1048576 characters");
    expect(run.server.modelCalls).toBe(0);
  });
});

describe.each(BOTH)("$mode: a Stop hook that always blocks", (column) => {
  it("ends the run instead of going on for ever", async () => {
    let stops = 0;
    const run = await runGuarded({
      column,
      script: () => [],
      declaration: () => ({
        Stop: [
          {
            hooks: [
              {
                type: "function",
                handler: () => {
                  stops += 1;
                  return { decision: "block", reason: "not yet" };
                },
              },
            ],
          },
        ],
      }),
    });
    expect(run.result.outcome).toBe("failed");
    expect(run.result.reason).toMatch(/^stop_hook_loop/);
    expect(stops).toBe(9);
    expect(run.server.modelCalls).toBeLessThanOrEqual(11);
  });

  it("goes on when it blocks once", async () => {
    let stops = 0;
    const run = await runGuarded({
      column,
      script: () => [],
      declaration: () => ({
        Stop: [
          {
            hooks: [
              {
                type: "function",
                handler: () => (stops++ === 0 ? { decision: "block", reason: "WORK-MORE" } : undefined),
              },
            ],
          },
        ],
      }),
    });
    expect(run.result.outcome).toBe("success");
    expect(run.server.modelCalls).toBe(2);
    expect(run.told()).toContain("WORK-MORE");
  });
});
