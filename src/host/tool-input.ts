// The input of a call: taken as a copy, so that what was judged is what runs, and checked against the tool's schema after every rewrite.

import { z } from "zod";
import { isJsonObject, type Json, type JsonObject, setOwn } from "../json.ts";
import { messageOf } from "../message-of.ts";
import { offerZod } from "../packages.ts";
import { createSchemaCheck } from "./json-schema-check.ts";
import type { HostTool, StandardSchema } from "./tool-types.ts";

offerZod(z);

export interface ValidationIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

export type Validated = { readonly value: unknown } | { readonly issues: readonly ValidationIssue[] };

export type InputCheck = (input: JsonObject) => Validated | Promise<Validated>;

const DEPTH_LIMIT = 256;

/** A plain copy. Throws `TypeError`, naming the place, for what JSON cannot hold; what it would leave out is left out. */
export function copyJson(value: unknown, at = "input", depth = 0): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`${at} is ${value}, which JSON cannot hold`);
  }
  if (typeof value !== "object") throw new TypeError(`${at} is a ${typeof value}, which JSON cannot hold`);
  if (depth > DEPTH_LIMIT) throw new TypeError(`${at} is nested more than ${DEPTH_LIMIT} deep`);
  // By its places and not by a function of its own: `map` passes over holes, and may be anything.
  if (Array.isArray(value)) {
    const copyPlace = (_place: unknown, index: number) =>
      copyJson(value[index], `${at}[${index}]`, depth + 1);
    return Array.from({ length: value.length }, copyPlace);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype)
    throw new TypeError(`${at} is not a plain object, which JSON cannot hold`);
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key];
    if (inner === undefined) continue;
    // The place is told only when something is wrong with it.
    const isSimple = inner === null || typeof inner === "string" || typeof inner === "boolean";
    const copied = isSimple ? inner : copyJson(inner, `${at}.${key}`, depth + 1);
    if (key !== "__proto__") copy[key] = copied;
    else setOwn(copy, key, copied);
  }
  return copy;
}

/**
 * @throws TypeError when the tool's `input` is neither a Standard Schema nor a JSON Schema that can be checked whole: a rule that was
 * passed over would be a check that is silently absent.
 */
export function createInputCheck({ name, input }: Pick<HostTool, "name" | "input">): InputCheck | undefined {
  if (input === undefined) return undefined;
  if (isStandardSchema(input)) return createStandardCheck(input);
  if (!isJsonObject(input))
    throw new TypeError(`tool ${name}: input must be a schema, got ${JSON.stringify(input) ?? typeof input}`);
  try {
    return createSchemaCheck(input, { unknownKeywords: "refuse" });
  } catch (cause) {
    throw new TypeError(`tool ${name}: its JSON Schema cannot be checked whole: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function createStandardCheck(schema: StandardSchema): InputCheck {
  const { validate } = schema["~standard"];
  return (value) => {
    const result = validate(value);
    return result instanceof Promise ? result.then(readResult) : readResult(result);
  };
}

type StandardResult = Awaited<ReturnType<StandardSchema["~standard"]["validate"]>>;

function readResult(result: StandardResult): Validated {
  if (result.issues === undefined)
    return "value" in result
      ? { value: result.value }
      : { issues: [{ path: [], message: "the schema answered with neither a value nor issues" }] };
  return {
    issues: result.issues.map(({ path = [], message }) => ({
      path: path.map((segment) => (typeof segment === "object" ? segment.key : segment)),
      message,
    })),
  };
}

function isStandardSchema(value: unknown): value is StandardSchema {
  return (
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    "~standard" in value &&
    typeof (value as StandardSchema)["~standard"]?.validate === "function"
  );
}

/** `path: message; …`, for the model. */
export function describeIssues(issues: readonly ValidationIssue[]): string {
  return issues
    .map(({ path, message }) => `${path.length === 0 ? "input" : path.map(String).join(".")}: ${message}`)
    .join("; ");
}

/** A tool's JSON Schema, to hand to a model; undefined when its schema has none. */
export function jsonSchemaOf({
  input,
  inputSchema,
}: Pick<HostTool, "input" | "inputSchema">): JsonObject | undefined {
  if (inputSchema !== undefined) return inputSchema;
  if (input === undefined) return { type: "object" };
  if (input instanceof z.ZodType)
    return z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as JsonObject;
  return isStandardSchema(input) ? undefined : input;
}
