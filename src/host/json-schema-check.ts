// Checks against a JSON Schema, with ajv, which knows all of it: a rule that was passed over would be a check that is silently absent. Patterns
// run in linear time: a schema may come from a server that wants to stall us.

import { createRequire } from "node:module";
import type { Ajv, Options } from "ajv";
import { RE2JS } from "re2js";
import type { JsonObject } from "../json.ts";
import { messageOf } from "../message-of.ts";
import type { InputCheck } from "./tool-input.ts";

const load = createRequire(import.meta.url);

/** Draft 2020-12 is the default, as in JSON Schema itself. */
const DIALECTS: readonly (readonly [RegExp, string])[] = [
  [/draft-0[67]/, "ajv"],
  [/2019-09/, "ajv/dist/2019.js"],
  [/2020-12/, "ajv/dist/2020.js"],
];

/**
 * @param unknownKeywords what to do with words that JSON Schema does not know: a misspelt rule of one's own is refused, an annotation of
 * somebody else's is none of ours
 * @throws Error when the schema is none, names a rule that cannot be checked, or ajv is not installed
 */
export function createSchemaCheck(
  schema: JsonObject,
  { unknownKeywords }: { unknownKeywords: "refuse" | "ignore" },
): InputCheck {
  const ajv = createAjv(schema, unknownKeywords === "refuse");
  // One that answers later would have to be asked over a network.
  if (schema.$async !== undefined) throw new Error("$async is not supported");
  const validate = ajv.compile(schema);
  return (value) => {
    if (validate(value) === true) return { value };
    return {
      issues: (validate.errors ?? []).map(({ instancePath, message = "is not valid", params }) => ({
        path: instancePath.split("/").slice(1).map(unescapePointer),
        message: `${message}${detailOf(params)}`,
      })),
    };
  };
}

function createAjv({ $schema }: JsonObject, isStrict: boolean): Ajv {
  const dialect = typeof $schema === "string" ? $schema : "2020-12";
  const file = DIALECTS.find(([name]) => name.test(dialect))?.[1];
  if (file === undefined) throw new Error(`unknown dialect ${dialect}`);
  const options: Options = {
    allErrors: true,
    strict: false,
    strictSchema: isStrict,
    logger: false,
    code: { regExp: Object.assign(compilePattern, { code: "new RegExp" }) },
  };
  const { default: Dialect } = loadPeer(file) as { default: new (options: Options) => Ajv };
  const ajv = new Dialect(options);
  const { default: addFormats } = loadPeer("ajv-formats") as { default: (ajv: Ajv) => unknown };
  addFormats(ajv);
  return ajv;
}

function loadPeer(name: string): unknown {
  try {
    return load(name);
  } catch (cause) {
    throw new Error("JSON Schemas of tools need ajv 8 and ajv-formats 3: npm install ajv@8 ajv-formats@3", {
      cause,
    });
  }
}

/** `toString` is the key by which ajv tells patterns apart. */
function compilePattern(pattern: string): { test(text: string): boolean; toString(): string } {
  try {
    const compiled = RE2JS.compile(pattern);
    return { test: (text) => compiled.matcher(text).find(), toString: () => `/${pattern}/` };
  } catch (cause) {
    throw new Error(`the pattern ${pattern} cannot be checked in linear time: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function unescapePointer(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** What ajv's words leave out. */
function detailOf(params: Record<string, unknown>): string {
  const { additionalProperty, unevaluatedProperty, allowedValues } = params;
  const extra = additionalProperty ?? unevaluatedProperty;
  if (extra !== undefined) return `: ${JSON.stringify(extra)}`;
  return allowedValues === undefined ? "" : `: ${JSON.stringify(allowedValues).slice(0, 200)}`;
}
