// @ts-check
// Asks a list of sins of a script what is in it.

/**
 * True when a list of sins holds a name that takes no value.
 * @param {readonly unknown[] | undefined} sins
 * @param {import("../script-types.ts").SinName} name
 */
export function commits(sins, name) {
  return (sins ?? []).includes(name);
}

/**
 * The value of a sin, or undefined when it is not committed.
 * @param {readonly unknown[] | undefined} sins
 * @param {import("../script-types.ts").SinName} name
 * @returns {any}
 */
export function valueOfSin(sins, name) {
  for (const sin of sins ?? [])
    if (typeof sin === "object" && sin !== null && name in sin) return /** @type {any} */ (sin)[name];
  return undefined;
}
