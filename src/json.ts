// JSON as a type, and the one guard and the one reader for "a plain object". Pure.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** True for a JSON object (not null, not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON object that a text is, or undefined: what a guard or a CLI prints need not be one, and the caller decides what that means. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A copy of what is JSON: several times as fast as `structuredClone`, which knows more than JSON. */
export function cloneJson<Value extends Json>(value: Value): Value;
export function cloneJson(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => cloneJson(inner));
  const copy: JsonObject = {};
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    const inner = cloneJson(value[key] as Json);
    if (key !== "__proto__") copy[key] = inner;
    else setOwn(copy, key, inner);
  }
  return copy;
}

/** Also for a key `__proto__`, which an assignment would take for something else. */
export function setOwn(target: JsonObject, key: string, value: Json): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
