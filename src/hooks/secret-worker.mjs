// The thread that looks for secrets: texts in, kinds and places out. Its expressions may take long on some texts, so it never runs where
// hooks run. Plain JavaScript, so that one file serves the sources and the built package.

import { parentPort, workerData } from "node:worker_threads";

// The rules' profiler keeps a mark for each rule of each text and searches all of them at each: this thread makes none. Before they load.
Object.defineProperty(performance, "mark", { value: () => undefined });

/**
 * @typedef {{ name: string, pattern: RegExp }} Shape
 * @typedef {{ kind: string, text: number, index: number, value?: string }} Found `text`: the place in the list; `value` of a shape of Bridle's own.
 */

/** @type {{ rules: string, own: Shape[] }} */
const { rules, own } = workerData;
const { lintSource } = await import("@secretlint/core");
const { creator } = await import("@secretlint/secretlint-rule-preset-recommend");
const config = { rules: [{ id: rules, rule: creator }] };

parentPort?.on("message", async (/** @type {string[]} */ texts) => {
  try {
    parentPort?.postMessage({ found: await lint(texts) });
  } catch (error) {
    parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
});
parentPort?.postMessage({ ready: true });

/** Most that is handed back: one is enough to deny. */
const FOUND_MAX = 10_000;

/** @param {string[]} texts */
async function lint(texts) {
  // The rules obey comments that switch them off, and the text is the agent's: same length, so that places stay.
  const content = texts.join("\n").replaceAll(/secretlint-(?=disable|enable)/gi, "secretlint_");
  /** @type {number[]} */
  const starts = [];
  let start = 0;
  for (const text of texts) {
    starts.push(start);
    start += text.length + 1;
  }
  const { messages } = await lintSource({
    source: { filePath: "text", content, ext: "", contentType: "text" },
    options: { config, noPhysicFilePath: true, maskSecrets: true },
  });
  const ranges = messages.map(({ range }) => range);
  /** @type {Found[]} */
  const found = messages.map(({ ruleId, messageId, range: [at] }) => {
    const text = placeIn(starts, at);
    const kind = `${ruleId.replace(/^.*secretlint-rule-/, "")}${messageId === "" ? "" : ` (${messageId})`}`;
    return { kind, text, index: at - (starts[text] ?? 0) };
  });
  for (const [text, one] of texts.entries())
    for (const { name, pattern } of own)
      for (const match of one.matchAll(pattern)) {
        const kept = match[1] ?? "";
        const index = match.index + kept.length;
        const at = (starts[text] ?? 0) + index;
        if (ranges.some(([from, to]) => from <= at && at < to)) continue;
        found.push({ kind: name, text, index, value: match[0].slice(kept.length) });
      }
  return found.slice(0, FOUND_MAX);
}

/**
 * The last text that begins at or before `at`.
 * @param {number[]} starts
 * @param {number} at
 */
function placeIn(starts, at) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
