// A copy of the built package with one thing in it broken, to be run as a user would run it.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import type { Proof, Provider } from "../../src/index.ts";
import { resolveNativeBinary } from "../binaries.ts";
import { makeSite, TOOL_PATH } from "./harness.ts";

const root = join(import.meta.dirname, "..", "..");
const run = promisify(execFile);

export interface Mutation {
  /** Below `dist`. */
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
}

/** Folder of the broken package. Throws when the text to break is not there: a mutation that changes nothing shows nothing. */
export function breakBuild({ file, from, to }: Mutation): string {
  const place = join(root, ".bridle-tmp");
  mkdirSync(place, { recursive: true });
  const folder = mkdtempSync(join(place, "broken-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "conformance"), join(folder, "conformance"));
  const path = join(folder, "dist", file);
  const source = readFileSync(path, "utf8");
  const broken = source.replace(from, to);
  if (broken === source) throw new Error(`${file} does not hold ${from}`);
  writeFileSync(path, broken);
  return folder;
}

/** `bridle prove` of a broken build. */
export async function proveWith(
  folder: string,
  provider: Provider,
  cases: readonly string[],
): Promise<{ code: number; proof: Proof | undefined; stderr: string }> {
  const site = makeSite();
  const words = ["prove", provider, "--binary", resolveNativeBinary(provider), "--json", "--case", ...cases];
  const env = { PATH: `${dirname(process.execPath)}:/usr/sbin:${TOOL_PATH}`, HOME: site.home, NO_COLOR: "1" };
  const { code, stdout, stderr } = await run(
    process.execPath,
    [join(folder, "dist", "cli", "main.js"), ...words],
    {
      env,
      cwd: site.project,
      timeout: 120_000,
    },
  ).then(
    (done) => ({ code: 0, ...done }),
    (failed: { code: number; stdout: string; stderr: string }) => failed,
  );
  const line = stdout.split("\n").find((it) => it.startsWith("{"));
  return { code, stderr, proof: line === undefined ? undefined : JSON.parse(line).proof };
}
