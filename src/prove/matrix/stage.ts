// The folders one case is played in, and the placeholders that stand for them: %project%, %home%, %notes%, %guards%, %tmp%, %node%.

import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { Json } from "../../json.ts";
import { makeDirectories } from "../../make-directories.ts";
import type { PlantSource } from "./schema.ts";

export interface Stage {
  readonly root: string;
  readonly home: string;
  readonly project: string;
  /** What guards write. */
  readonly notes: string;
  /** Guards the agent has no business with. */
  readonly guards: string;
  readonly tmp: string;
  /** Replaces the placeholders in every string. */
  expand<T extends Json>(value: T): T;
  /** Absolute path of a name relative to the project. */
  at(name: string): string;
  remove(): Promise<void>;
}

/** `scratch` must lie outside the system's temporary folder: run directories below it are refused. */
export async function setStage(scratch: string): Promise<Stage> {
  await makeDirectories(scratch);
  const root = await mkdtemp(join(scratch, "case-"));
  const folders = {
    home: join(root, "home"),
    project: join(root, "project"),
    notes: join(root, "notes"),
    guards: join(root, "guards"),
    tmp: join(root, "tmp"),
  };
  for (const folder of Object.values(folders)) await mkdir(folder);
  // The project is a repository of its own, whatever the scratch folder lies in.
  await mkdir(join(folders.project, ".git"));
  const expand = <T extends Json>(value: T): T =>
    expandJson(value, { ...folders, node: process.execPath }) as T;
  return {
    root,
    ...folders,
    expand,
    at: (name) => (isAbsolute(expand(name)) ? expand(name) : join(folders.project, expand(name))),
    remove: () => rm(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function expandJson(value: Json, names: Readonly<Record<string, string>>): Json {
  if (typeof value === "string") return value.replace(/%([a-z]+)%/g, (whole, name) => names[name] ?? whole);
  if (Array.isArray(value)) return value.map((item) => expandJson(item, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [expandJson(key, names), expandJson(item ?? null, names)]),
  );
}

export async function plantFiles(stage: Stage, plants: readonly PlantSource[] = []): Promise<void> {
  for (const { path, text, json, folder, mode } of plants) {
    const target = stage.at(path);
    if (folder === true) {
      await mkdir(target, { recursive: true });
      continue;
    }
    await mkdir(dirname(target), { recursive: true });
    await writeFile(
      target,
      text === undefined ? JSON.stringify(stage.expand(json ?? null)) : stage.expand(text),
    );
    if (mode !== undefined) await chmod(target, Number.parseInt(mode, 8));
  }
}
