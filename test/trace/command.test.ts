// bridle run --trace, with an SDK of the user's that node --import loads.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFakeProvider } from "../../src/testkit/index.ts";
import { DIST } from "../journal/support.ts";
import { makePlace, type Place } from "../spawn/support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

const packageUrl = (name: string) => import.meta.resolve(name);

test("the spans of a run reach the exporter", async () => {
  const { binary } = await createFakeProvider({
    provider: "codex",
    script: { steps: [{ tools: [{ shell: "true" }] }, { text: "done" }] },
    directory: place.home,
  });
  const hooks = join(place.home, "hooks.yaml");
  writeFileSync(hooks, "hooks_external:\n  PreToolUse:\n    - hooks: [{type: command, command: ['true']}]\n");
  const spans = join(place.home, "spans");
  const tracing = join(place.home, "tracing.mjs");
  writeFileSync(
    tracing,
    `import { appendFileSync } from "node:fs";
    import { trace } from ${JSON.stringify(packageUrl("@opentelemetry/api"))};
    import { BasicTracerProvider, SimpleSpanProcessor } from ${JSON.stringify(packageUrl("@opentelemetry/sdk-trace-base"))};
    const exporter = {
      export(spans, done) {
        for (const span of spans) appendFileSync(${JSON.stringify(spans)}, span.name + "\\n");
        done({ code: 0 });
      },
      shutdown: async () => {},
    };
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));`,
  );
  const main = join(DIST, "cli", "main.js");
  const words = ["run", "codex", "hello", "--hooks", hooks, "--cwd", place.cwd, "--binary", binary];
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", tracing, main, ...words, "--prove", "off", "--trace"],
    { env: place.env, cwd: fileURLToPath(new URL("../..", import.meta.url)), encoding: "utf8" },
  );
  expect([status, stderr]).toEqual([0, ""]);
  expect(readFileSync(spans, "utf8").trimEnd().split("\n")).toEqual([
    "hook PreToolUse",
    "execute_tool command_execution",
    "turn 1",
    "invoke_agent codex",
  ]);
});
