// Which settings files count for a working directory, in the order in which their entries run. Reads no file.

import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { AgentHooksRefused } from "../errors.ts";
import { refuseFile } from "./parse-settings.ts";

export interface SettingsFile {
  readonly path: string;
  readonly tier: "user" | "project" | "plugin";
  /** The folder that holds its `.lionagi`. */
  readonly root: string;
  /** A fragment has nothing in it but hooks; a settings file may have none. */
  readonly isFragment: boolean;
}

export const SETTINGS_FOLDER = ".lionagi";
export const SETTINGS_FILE = join(SETTINGS_FOLDER, "settings.yaml");
const MISNAMED = join(SETTINGS_FOLDER, "settings.yml");
const FRAGMENTS = join(SETTINGS_FOLDER, "hooks");

export interface LocatedSettings {
  /** Real path of `cwd`. */
  readonly folder: string;
  /** Real path, where there is one. */
  readonly home: string;
  /** With settings, outermost first. */
  readonly projectFolders: readonly string[];
  readonly files: readonly SettingsFile[];
}

/** Throws `option_invalid` for a `cwd` that is not there, and `declaration_invalid` for what would be lost without a word. */
export async function locateSettings({
  cwd,
  home: givenHome,
  plugins,
}: {
  cwd: string;
  home: string;
  plugins: readonly string[];
}): Promise<LocatedSettings> {
  const folder = await realpath(resolve(cwd)).catch((error: Error) => {
    throw new AgentHooksRefused([
      { code: "option_invalid", path: "cwd", message: `cannot be used: ${error.message}`, hint: "" },
    ]);
  });
  const home = await realpath(givenHome).catch(() => resolve(givenHome));
  const projectFolders = await findProjectFolders(folder, home);
  return { folder, home, projectFolders, files: await findSettings({ home, projectFolders, plugins }) };
}

/** User files, then the project's, then those of plugin bundles; of each the settings file before its fragments, those by name. */
async function findSettings({
  home,
  projectFolders,
  plugins,
}: {
  home: string;
  projectFolders: readonly string[];
  plugins: readonly string[];
}): Promise<SettingsFile[]> {
  const files = await findIn(home, "user");
  const userFolder = await realFolder(home);
  for (const folder of projectFolders) {
    // A project that is the home itself, or borrows its folder by a link, has no files of its own.
    if ((await realFolder(folder)) !== userFolder) files.push(...(await findIn(folder, "project")));
  }
  for (const folder of plugins) files.push(...(await findIn(resolve(folder), "plugin")));
  return files;
}

async function findIn(root: string, tier: SettingsFile["tier"]): Promise<SettingsFile[]> {
  const settings = join(root, SETTINGS_FILE);
  const files: SettingsFile[] = (await isThere(settings))
    ? [{ path: settings, tier, root, isFragment: false }]
    : [];
  const misnamed = join(root, MISNAMED);
  if (await isThere(misnamed))
    throw refuseFile(misnamed, "would not be read: its name must end in .yaml", "rename it");
  const folder = join(root, FRAGMENTS);
  if (!(await isThere(folder))) return files;
  if (!(await isFolder(folder)))
    throw refuseFile(
      folder,
      "is no folder, or a link that leads nowhere",
      "hooks in it would be lost without a word",
    );
  // Links that lead nowhere and folders are listed too: reading them refuses, leaving them out would lose a guard without a word.
  // With the types of entries, or links to folders would be followed.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: Error) => {
    throw refuseFile(folder, `cannot be read: ${error.message}`);
  });
  const names = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name))).filter(isYaml);
  for (const name of names.sort()) {
    const path = join(folder, name);
    if (name.includes("/") || name.startsWith("."))
      throw refuseFile(
        path,
        "would not be read: fragments stand in the folder itself, without a leading dot",
        "move it",
      );
    if (!name.endsWith(".yaml"))
      throw refuseFile(path, "would not be read: the name of a fragment ends in .yaml", "rename it");
    files.push({ path, tier, root, isFragment: true });
  }
  return files;
}

/**
 * The folders with settings from `cwd` up to the root of its repository, outermost first: a folder inside a project adds to it and hides nothing.
 * Without a repository, `cwd` alone. All must belong to the same user: what others left above a working directory is not its project.
 */
export async function findProjectFolders(cwd: string, home: string): Promise<string[]> {
  const { uid } = await stat(cwd);
  const found: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    if ((await stat(folder)).uid !== uid) break;
    if (await isThere(...[SETTINGS_FILE, MISNAMED, FRAGMENTS].map((name) => join(folder, name))))
      found.unshift(folder);
    if (await isThere(join(folder, ".git"))) return found;
    if (folder === home || folder === dirname(folder)) break;
  }
  return found.filter((folder) => folder === cwd);
}

function isYaml(name: string): boolean {
  return /\.ya?ml$/i.test(name);
}

/** Also of a link that leads nowhere. */
async function isThere(...paths: string[]): Promise<boolean> {
  for (const path of paths) {
    const isFound = await lstat(path).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return false;
        throw refuseFile(path, `cannot be read: ${error.message}`);
      },
    );
    if (isFound) return true;
  }
  return false;
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function realFolder(root: string): Promise<string> {
  const folder = join(root, SETTINGS_FOLDER);
  return realpath(folder).catch(() => folder);
}
