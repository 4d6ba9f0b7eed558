// @ts-check
// A command line as both CLIs read theirs: known flags only, values with `=` or as the next word.

/** @typedef {Readonly<Record<string, "none" | "value" | "optional">>} KnownFlags */

/**
 * @param {readonly string[]} argv @param {KnownFlags} known
 * @returns {{ values: Map<string, string[]>, words: string[] } | { unknown: string }} `words`: what is no flag and no value.
 */
export function parseFlags(argv, known) {
  /** @type {Map<string, string[]>} */
  const values = new Map();
  /** @type {string[]} */
  const words = [];
  for (let index = 0; index < argv.length; index++) {
    const arg = /** @type {string} */ (argv[index]);
    if (!arg.startsWith("-") || arg === "-") {
      words.push(arg);
      continue;
    }
    const at = arg.startsWith("--") ? arg.indexOf("=") : -1;
    const name = at === -1 ? arg : arg.slice(0, at);
    const kind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kind === undefined) return { unknown: name };
    let value = at === -1 ? "" : arg.slice(at + 1);
    if (at === -1 && kind === "value") value = argv[++index] ?? "";
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return { values, words };
}

/** The known flags without one that a sin drops. @param {KnownFlags} known @param {string | undefined} dropped */
export function withoutFlag(known, dropped) {
  return Object.fromEntries(Object.entries(known).filter(([name]) => name !== dropped));
}
