// JSON values as TOML on one line, for `-c key=value` and the per-run config.toml.

import type { Json, JsonObject } from "../../json.ts";

export function tomlValue(value: Json): string {
  if (typeof value === "string") return tomlString(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Error(`TOML here holds no ${value}`);
    // Beyond 64 bits an integer is no TOML; with a point the same number is a float.
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
  }
  if (value === null) throw new Error("TOML has no null");
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(",")}]`;
  return tomlTable(value);
}

/** An inline table. Keys are always quoted, so that dots and brackets in them stay part of the name. */
function tomlTable(table: JsonObject): string {
  const pairs = Object.entries(table).map(([key, value]) => `${tomlString(key)}=${tomlValue(value)}`);
  return `{${pairs.join(",")}}`;
}

/** A basic string: everything below U+0020, DEL, quote and backslash escaped. */
function tomlString(text: string): string {
  let quoted = "";
  for (const character of Buffer.from(text).toString("utf8")) {
    const code = character.codePointAt(0) ?? 0;
    if (character === '"' || character === "\\") quoted += `\\${character}`;
    else if (code < 0x20 || code === 0x7f) quoted += `\\u${code.toString(16).padStart(4, "0")}`;
    else quoted += character;
  }
  return `"${quoted}"`;
}
