// @ts-check
// The sins of a step: what goes wrong between two calls. The providers differ only in the lines they print.

import { spawn } from "node:child_process";
import { leave, printError, printLine, printText, waitForEver } from "./output.mjs";

/** @import { FakeStep } from "../script-types.ts" */

const MEGABYTE = 1_000_000;
const FLOOD_LINE_BYTES = 1000;

/** Pids that sins have left behind, oldest first. @type {number[]} */
export const children = [];

/** @param {import("node:child_process").SpawnOptions} options */
async function leaveChild(options) {
  const child = spawn("/bin/sleep", ["1000"], options);
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  child.unref();
  children.push(/** @type {number} */ (child.pid));
}

/** @param {(text: string) => Promise<void>} print @param {number} megabytes @param {(pad: string) => object} makeLine */
async function flood(print, megabytes, makeLine) {
  const bare = JSON.stringify(makeLine("")).length + 1;
  const line = `${JSON.stringify(makeLine("x".repeat(FLOOD_LINE_BYTES - bare)))}\n`;
  for (let left = (megabytes * MEGABYTE) / FLOOD_LINE_BYTES; left > 0; left -= 100)
    await print(line.repeat(Math.min(100, Math.ceil(left))));
}

/**
 * @typedef {object} Voice
 * @property {(text: string) => Promise<void>} say prints a message of the model
 * @property {(pad: string) => object} filler a line of a type that launchers need not know
 */

/** @param {string} signal @returns {Promise<never>} */
async function crash(signal) {
  await Promise.all([printText(""), printError("")]);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  return waitForEver();
}

/** @type {Record<string, (voice: Voice, value: any) => Promise<unknown>>} */
const COMMIT = {
  "half-line": async ({ filler }) => {
    const line = JSON.stringify(filler("cut"));
    await printText(line.slice(0, line.length / 2));
    return leave(0);
  },
  "garbage-lines": async () => {
    await printText('this is no JSON\n{"half":\n\n[1,2]\n');
    await printLine({ type: "unheard_of", value: 1 });
  },
  "flood-stdout": ({ filler }, megabytes) => flood(printText, megabytes, filler),
  "flood-stderr": (_voice, megabytes) => flood(printError, megabytes, (pad) => ({ log: pad })),
  "long-line": ({ say }, megabytes) => say("x".repeat(megabytes * MEGABYTE)),
  "leave-child": () => leaveChild({ stdio: "ignore" }),
  "leave-child-session": () => leaveChild({ stdio: "ignore", detached: true }),
  "leave-child-holding-stdout": () => leaveChild({ stdio: ["ignore", "inherit", "ignore"] }),
  crash: (_voice, signal) => crash(signal),
  hang: () => waitForEver(),
};

/** Commits the sins of one step in their order. @param {FakeStep["sins"]} sins @param {Voice} voice */
export async function commitStepSins(sins, voice) {
  for (const sin of sins ?? []) {
    const [name, value] = typeof sin === "string" ? [sin, undefined] : (Object.entries(sin)[0] ?? []);
    await COMMIT[/** @type {string} */ (name)]?.(voice, value);
  }
}

/** Fills in what a step's text may name. @param {string} text @param {string} prompt */
export function fillIn(text, prompt) {
  return text.replaceAll("{{prompt}}", () => prompt).replaceAll("{{children}}", children.join(","));
}
