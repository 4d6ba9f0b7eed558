// For --import: writes down every file that a program loads, one a line, in the file that NOTE_LOADED names.

import { appendFileSync } from "node:fs";
import { createRequire, register } from "node:module";
import { isMainThread } from "node:worker_threads";

/** @param {string} url */
const note = (url) => {
  if (url.startsWith("file:") && url !== import.meta.url)
    appendFileSync(/** @type {string} */ (process.env.NOTE_LOADED), `${url}\n`);
};

if (isMainThread) {
  register(import.meta.url);
  // What is required is not told to hooks.
  process.on("exit", () => {
    for (const path of Object.keys(createRequire(import.meta.url).cache)) note(`file://${path}`);
  });
}

/** @type {import("node:module").LoadHook} */
export const load = async (url, context, next) => {
  note(url);
  return next(url, context);
};
