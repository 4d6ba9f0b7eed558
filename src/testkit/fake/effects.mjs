// @ts-check
// What a tool call of a script does to the world.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { BASH, runShell } from "./processes.mjs";

/** @typedef {{ isError: boolean, output: string, code: number, error?: string }} Effect */

/** @param {string} command @param {string} cwd @returns {Promise<Effect>} */
export async function runCommand(command, cwd) {
  const { code, signal, stdout, stderr, error } = await runShell({ shell: BASH, command, cwd });
  const status = code ?? (signal === null ? 127 : 128);
  return { isError: status !== 0, output: error ?? `${stdout}${stderr}`, code: status };
}

/** @param {{ path: string, content: string }} file @param {string} cwd @returns {Effect} */
export function writeFile({ path, content }, cwd) {
  try {
    const target = resolve(cwd, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
    return { isError: false, output: `wrote ${target}`, code: 0 };
  } catch (error) {
    return { isError: true, output: String(error), code: 1 };
  }
}

/** The patch that adds one file, as codex's model writes it. @param {{ path: string, content: string }} file */
export function patchFor({ path, content }) {
  const lines = content.replace(/\n$/, "").split("\n");
  return [
    "*** Begin Patch",
    `*** Add File: ${path}`,
    ...lines.map((line) => `+${line}`),
    "*** End Patch",
  ].join("\n");
}

/**
 * Applies a patch of added files; of the other kinds a script has no need.
 * @param {string} patch @param {string} cwd @returns {Effect & { paths: string[] }}
 */
export function applyPatch(patch, cwd) {
  /** @type {{ path: string, lines: string[] }[]} */
  const files = [];
  for (const line of patch.split("\n")) {
    const [, path] = /^\*\*\* Add File: (.+)$/.exec(line) ?? [];
    if (path !== undefined) files.push({ path, lines: [] });
    else if (line.startsWith("+")) files.at(-1)?.lines.push(line.slice(1));
    else if (!/^\*\*\* (?:Begin|End) Patch$/.test(line) && line !== "")
      return {
        isError: true,
        output: `a fake applies added files only, not ${JSON.stringify(line)}`,
        code: 1,
        paths: [],
      };
  }
  const paths = files.map(({ path }) => resolve(cwd, path));
  for (const { path, lines } of files) {
    const effect = writeFile({ path, content: `${lines.join("\n")}\n` }, cwd);
    if (effect.isError) return { ...effect, paths };
  }
  return {
    isError: false,
    output: `Success. Updated the following files:\n${paths.join("\n")}`,
    code: 0,
    paths,
  };
}
