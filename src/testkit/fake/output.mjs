// @ts-check
// What a fake prints. Nobody reading is no reason to stop, as with the real CLIs.

for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

/** @param {NodeJS.WriteStream} stream @param {string} text */
const writeAll = (stream, text) =>
  new Promise((/** @type {(value: void) => void} */ resolve) => {
    stream.write(text, () => resolve());
  });

/** Prints text as it stands and resolves when it is out of this process. @param {string} text */
export const printText = (text) => writeAll(process.stdout, text);

/** @param {string} text */
export const printError = (text) => writeAll(process.stderr, text);

/** One event as one line. @param {object} line */
export const printLine = (line) => printText(`${JSON.stringify(line)}\n`);

/** Exits once everything printed so far is out. @param {number} code @returns {Promise<never>} */
export async function leave(code) {
  await Promise.all([printText(""), printError("")]);
  process.exit(code);
}

/** For ever: keeps the process alive. @returns {Promise<never>} */
export function waitForEver() {
  setInterval(() => {}, 1 << 30);
  return new Promise(() => {});
}
