// Verdicts of a case, with observations in the place of a CLI.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import type { Observation } from "../../../src/prove/matrix/observation.ts";
import type { PlayOptions } from "../../../src/prove/matrix/play.ts";
import { playBare } from "../../../src/prove/matrix/play-bare.ts";
import { playBridled } from "../../../src/prove/matrix/play-bridled.ts";
import { playHandlerForm } from "../../../src/prove/matrix/play-handler-form.ts";
import { runCase } from "../../../src/prove/matrix/run-case.ts";
import type { MatrixCase } from "../../../src/prove/matrix/schema.ts";
import { makeItem } from "./support.ts";

vi.mock("../../../src/prove/matrix/play-bare.ts", () => ({ playBare: vi.fn() }));
vi.mock("../../../src/prove/matrix/play-bridled.ts", () => ({ playBridled: vi.fn(), NO_GUARD: {} }));
vi.mock("../../../src/prove/matrix/play-handler-form.ts", () => ({ playHandlerForm: vi.fn() }));

const nothing: Observation = {
  refusal: undefined,
  outcome: "success",
  reason: "completed",
  hooks: undefined,
  warnings: [],
  receipt: "",
  told: "",
  sent: "",
  offered: [],
  modelCalls: 1,
};
const touches = async ({ stage }: PlayOptions): Promise<Observation> => {
  writeFileSync(stage.at("happened"), "");
  return nothing;
};
const idles = async (): Promise<Observation> => nothing;
const refuses = async (): Promise<Observation> => ({
  ...nothing,
  refusal: { codes: ["provider_unsupported"], message: "" },
});

const blocks = makeItem({ expect: { absent: ["happened"] } });
const control = { expect: { present: ["happened"] } };

function run(item: MatrixCase) {
  const scratch = mkdtempSync(join(tmpdir(), "bridle-run-case-test-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  return runCase(item, { binary: "/bin/false", scratch, folder: scratch, networkEnv: {} });
}

beforeEach(() => void vi.resetAllMocks());

it("holds when what was expected was seen, and says what", async () => {
  vi.mocked(playBridled).mockImplementationOnce(idles);
  expect(await run(blocks)).toMatchObject({ verdict: "holds", observed: "happened was not made, success" });
});

it("fails when the side effect was seen, and says so", async () => {
  vi.mocked(playBridled).mockImplementationOnce(touches);
  expect(await run(blocks)).toMatchObject({
    verdict: "fails",
    observed: "file happened: wanted absent, got exists",
  });
});

it("is refused when Bridle refused and nobody expected it", async () => {
  vi.mocked(playBridled).mockImplementationOnce(refuses);
  expect(await run(blocks)).toMatchObject({ verdict: "refused", observed: "refused: provider_unsupported" });
});

it("fails when another refusal was expected", async () => {
  vi.mocked(playBridled).mockImplementationOnce(refuses);
  expect(await run({ ...blocks, expect: { refused: "matcher_invalid" } })).toMatchObject({
    verdict: "fails",
  });
});

it("is unclear when the control does not show the side effect either", async () => {
  vi.mocked(playBridled).mockImplementation(idles);
  const { verdict, observed } = await run({ ...blocks, control });
  expect(verdict).toBe("unclear");
  expect(observed).toMatch(/^without the guard: file happened/);
});

it("holds when the control shows the side effect, without the guard or without Bridle", async () => {
  vi.mocked(playBridled).mockImplementationOnce(idles).mockImplementationOnce(touches);
  expect(await run({ ...blocks, control })).toMatchObject({ verdict: "holds" });
  vi.mocked(playBridled).mockImplementationOnce(idles);
  vi.mocked(playBare).mockImplementationOnce(touches);
  expect(await run({ ...blocks, control: { how: "bare", ...control } })).toMatchObject({ verdict: "holds" });
});

it("plays the handler form when the case says so", async () => {
  vi.mocked(playHandlerForm).mockImplementationOnce(touches);
  expect(await run({ ...blocks, via: "handler", shim: "exit 90" })).toMatchObject({ verdict: "fails" });
  expect(vi.mocked(playBridled)).not.toHaveBeenCalled();
});
