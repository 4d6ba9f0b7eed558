// What a run inside a run gives its MCP servers: codex curates their environment, so what is not handed on explicitly is not there.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { planOf } from "../../src/compiler/token.ts";
import { adapterFor } from "../../src/render/registry.ts";
import { makeRun, planRun } from "../../src/spawn/set-up.ts";
import { compileFake } from "../testkit/support.ts";
import { makePlace, type Place } from "./support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

it("an MCP server carries the markers of the outer and of the inner run", async () => {
  const hooks = await compileFake(place, { provider: "claude", script: { steps: [{ text: "x" }] } });
  const runId = randomUUID();
  const runOptions = { cwd: place.cwd, mcpServers: { tools: { command: "/bin/cat" } } };
  const setUp = {
    plan: planOf(hooks),
    adapter: adapterFor("claude"),
    options: { hooks, prompt: "p", cwd: place.cwd, baseEnv: { ...place.env, BRIDLE_RUN_MARKER: "outer" } },
    runOptions,
    runId,
    sessionId: randomUUID(),
    marker: runId,
  };
  const layout = await makeRun(setUp, await planRun(setUp));
  const [file] = layout.rendered.files.filter(({ content }) => content.includes('"tools"'));
  const text = await readFile(join(layout.runDirectory.path, file?.path ?? ""), "utf8");
  await layout.remove();
  expect(JSON.parse(text)).toMatchObject({
    mcpServers: { tools: { env: { BRIDLE_RUN_MARKER: `outer:${runId}` } } },
  });
});
