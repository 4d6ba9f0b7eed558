// The sources, built once for all tests that start programs of their own.

import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the built sources. */
    dist: string;
  }
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));

let folder: string | undefined;

/** Runs before all tests. Builds into a folder below the repository, so that dependencies are found. */
export async function setup(project: TestProject): Promise<void> {
  const parent = join(ROOT, ".bridle-tmp");
  await mkdir(parent, { recursive: true });
  folder = await mkdtemp(join(parent, "build-"));
  const dist = join(folder, "dist");
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [compiler, "-p", join(ROOT, "tsconfig.build.json"), "--outDir", dist]);
  project.provide("dist", dist);
}

/** Runs after all tests. */
export async function teardown(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
