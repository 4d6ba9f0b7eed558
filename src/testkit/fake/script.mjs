// @ts-check
// Reads and checks a fake's script. A misspelt key or a sin that the provider does not know must never be ignored: the test that
// holds it would pass without having tested anything.

import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { z } from "zod";
import { SINS } from "./sins.mjs";

/** @import { FakeScript, SinPlace, SinRow } from "../script-types.ts" */
/** @typedef {"claude" | "codex"} Provider */

/** A script that cannot be used. The message names the file, the place and the value, one line a problem. */
export class FakeScriptInvalid extends Error {
  /** @param {string} source @param {readonly string[]} problems */
  constructor(source, problems) {
    super(problems.map((problem) => `${source}: ${problem}`).join("\n"));
    this.name = "FakeScriptInvalid";
    this.source = source;
    this.problems = problems;
  }
}

/** @type {Record<string, { says: string, holds: (value: unknown) => boolean }>} */
const VALUES = {
  megabytes: {
    says: "a number of megabytes, above 0 and at most 1000",
    holds: (value) => typeof value === "number" && value > 0 && value <= 1000,
  },
  code: {
    says: "an exit code from 0 to 255",
    holds: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255,
  },
  signal: {
    says: "the name of a signal",
    holds: (value) => typeof value === "string" && Object.hasOwn(constants.signals, value),
  },
  flag: { says: "a flag", holds: (value) => typeof value === "string" && value.startsWith("-") },
  event: {
    says: "the name of a hook event",
    holds: (value) => typeof value === "string" && /^[A-Z][A-Za-z]+$/.test(value),
  },
  version: {
    says: "a version",
    holds: (value) => typeof value === "string" && /^\d+\.\d+\.\d+$/.test(value),
  },
};

/**
 * What is wrong with one sin, or undefined.
 * @param {unknown} sin @param {SinPlace} place @param {Provider} provider
 */
function findProblem(sin, place, provider) {
  const isBare = typeof sin === "string";
  const keys = isBare ? [sin] : typeof sin === "object" && sin !== null ? Object.keys(sin) : [];
  const [name] = keys;
  if (keys.length !== 1 || name === undefined) return "expected a name or { name: value }";
  const row = /** @type {SinRow | undefined} */ (
    Object.hasOwn(SINS, name) ? SINS[/** @type {keyof typeof SINS} */ (name)] : undefined
  );
  if (row === undefined) return `unknown sin; known here: ${namesAt(place, provider).join(", ")}`;
  if (row.on !== place) return `is a sin of a ${row.on}, not of a ${place}`;
  if (!row.providers.includes(provider)) return `is no sin of ${provider}`;
  if (row.value === undefined) return isBare ? undefined : "takes no value";
  const { says = "", holds = () => false } = VALUES[row.value] ?? {};
  if (isBare) return `needs a value: { "${name}": ${says} }`;
  return holds(/** @type {any} */ (sin)[name]) ? undefined : `expected ${says}`;
}

/** @param {SinPlace} place @param {Provider} provider */
function namesAt(place, provider) {
  const rows = /** @type {[string, SinRow][]} */ (Object.entries(SINS));
  return rows.filter(([, row]) => row.on === place && row.providers.includes(provider)).map(([name]) => name);
}

/** @param {Provider} provider */
function schemaFor(provider) {
  /** @param {SinPlace} place */
  const sins = (place) =>
    z
      .array(
        z.unknown().superRefine((sin, context) => {
          const problem = findProblem(sin, place, provider);
          if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
        }),
      )
      .optional();
  const tool = z
    .strictObject({
      shell: z.string().min(1).optional(),
      write: z.strictObject({ path: z.string().min(1), content: z.string() }).optional(),
      raw: z
        .strictObject({
          name: z.string().min(1),
          input: z.record(z.string(), z.json()),
          output: z.json().optional(),
        })
        .optional(),
      sins: sins("tool"),
    })
    .superRefine(({ shell, write, raw }, context) => {
      const given = [shell, write, raw].filter((kind) => kind !== undefined).length;
      if (given !== 1)
        context.addIssue({ code: "custom", message: "expected exactly one of shell, write and raw" });
    });
  const step = z.strictObject({
    text: z.string().optional(),
    thinking: z.string().optional(),
    tools: z.array(tool).optional(),
    sins: sins("step"),
  });
  return z.strictObject({
    version: z
      .string()
      .regex(/^\d+\.\d+\.\d+$/, "expected a version as 2.1.332")
      .optional(),
    steps: z.array(step),
    sins: sins("run"),
  });
}

/**
 * Checks a script.
 * @param {unknown} value
 * @param {{ provider: Provider, source?: string }} options `source` names it in errors; default `script`.
 * @returns {FakeScript}
 * @throws {FakeScriptInvalid} with every problem
 */
export function parseFakeScript(value, { provider, source = "script" }) {
  const { data, error } = schemaFor(provider).safeParse(value);
  if (error === undefined) return /** @type {FakeScript} */ (data);
  throw new FakeScriptInvalid(
    source,
    error.issues.map(({ path, message }) => {
      const where = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
      const found = path.reduce(
        (inner, key) => /** @type {any} */ (inner)?.[key],
        /** @type {any} */ (value),
      );
      return `${where.replace(/^\./, "") || "the script"}: ${message}, got ${JSON.stringify(found)?.slice(0, 200) ?? "nothing"}`;
    }),
  );
}

/**
 * Reads and checks a script file.
 * @param {string} path @param {Provider} provider
 * @throws {FakeScriptInvalid}
 */
export function loadFakeScript(path, provider) {
  let text;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new FakeScriptInvalid(path, [
      `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new FakeScriptInvalid(path, [
      `is no JSON: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  return parseFakeScript(value, { provider, source: path });
}
