// Declarations in Redis: canonical JSON under its sha256. What comes out of Redis is believed by its digest or by a signature alone, and
// never because it lies there.

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { HookDeclaration } from "../declaration/types.ts";
import { validateDeclaration } from "../declaration/validate.ts";
import { AgentHooksRefused, refuseIfAny } from "../errors.ts";
import { DIGEST_PATTERN } from "./job-data.ts";
import type { QueueClient } from "./redis-commands.ts";
import { declarationKey } from "./redis-keys.ts";

/**
 * Which declarations a worker runs: those with these digests; those that were published with this key (at least 32 bytes); or, when everybody
 * who can write to that Redis may choose the guards, any.
 */
export type AllowedDeclarations =
  | { readonly digests: readonly string[] }
  | { readonly key: string | Uint8Array }
  | "any";

const KEY_BYTES_MIN = 32;
/** A longer one is not read out of Redis. Characters. */
const TEXT_MAX = 1024 * 1024;

export interface ShippedDeclaration {
  readonly text: string;
  /** sha256 of the text, in hexadecimal. */
  readonly digest: string;
}

/**
 * As it is shipped. The same declaration has the same digest wherever and in whatever order it was written.
 *
 * @throws AgentHooksRefused `declaration_invalid` and what else is wrong with it; `handler_type_unsupported` for a function, which cannot be shipped.
 */
export function packDeclaration(declaration: HookDeclaration): ShippedDeclaration {
  refuseIfAny(validateDeclaration(declaration).issues);
  for (const [event, groups] of Object.entries(declaration))
    for (const [group, { hooks }] of groups.entries())
      for (const [index, { type }] of hooks.entries())
        if (type === "function")
          throw new AgentHooksRefused([
            {
              code: "handler_type_unsupported",
              path: `declaration: ${event}[${group}].hooks[${index}]`,
              message: "a function cannot be sent to another process",
              hint: "declare a command, or add the function on the worker (guards)",
            },
          ]);
  const text = canonicalJson(declaration);
  return { text, digest: createHash("sha256").update(text).digest("hex") };
}

/** sha256 of a declaration as it is shipped: what a worker is told to allow. Throws as `packDeclaration`. */
export function declarationDigest(declaration: HookDeclaration): string {
  return packDeclaration(declaration).digest;
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${fields.join(",")}}`;
}

function sign(digest: string, key: string | Uint8Array): Buffer {
  return createHmac("sha256", key).update(`agent-bridle declaration ${digest}`).digest();
}

/** @param key signs it, for workers that allow by key. */
export async function storeDeclaration(
  client: QueueClient,
  name: string,
  declaration: HookDeclaration,
  key: string | Uint8Array | undefined,
): Promise<string> {
  const { text, digest } = packDeclaration(declaration);
  const fields: Record<string, string> = { text };
  if (key !== undefined) fields.signature = sign(digest, key).toString("hex");
  await client.hset(declarationKey(name, digest), fields);
  return digest;
}

/**
 * A declaration that this worker may run.
 *
 * @throws AgentHooksRefused `declaration_refused`: it is not there, is not what its digest says, or is not allowed.
 */
export async function fetchDeclaration(
  client: QueueClient,
  name: string,
  digest: string,
  allow: AllowedDeclarations,
): Promise<HookDeclaration> {
  if (allow !== "any" && "digests" in allow && !allow.digests.includes(digest))
    throw refuse(digest, "this worker was not told to allow it", "--allow, or allow: { digests }");
  const { text, signature } = await client.hgetall(declarationKey(name, digest));
  if (text === undefined) throw refuse(digest, "it is not in the queue", "publish it before its jobs");
  if (text.length > TEXT_MAX) throw refuse(digest, `it is longer than ${TEXT_MAX} characters`, "");
  if (createHash("sha256").update(text).digest("hex") !== digest)
    throw refuse(digest, "what lies in Redis is something else", "somebody changed it: find out who");
  if (allow !== "any" && "key" in allow && !isSignedBy(digest, signature, allow.key))
    throw refuse(digest, "it is not signed with this worker's key", "publish it with that key");
  const declaration: unknown = JSON.parse(text);
  const { issues } = validateDeclaration(declaration, `declaration ${digest.slice(0, 16)}`);
  refuseIfAny(issues);
  return declaration as HookDeclaration;
}

function isSignedBy(digest: string, signature: string | undefined, key: string | Uint8Array): boolean {
  if (signature === undefined || !DIGEST_PATTERN.test(signature)) return false;
  return timingSafeEqual(Buffer.from(signature, "hex"), sign(digest, key));
}

function refuse(digest: string, message: string, hint: string): AgentHooksRefused {
  return new AgentHooksRefused([
    { code: "declaration_refused", path: `declaration ${digest.slice(0, 16)}`, message, hint },
  ]);
}

/** @throws AgentHooksRefused `option_invalid`. There is no default: who may choose the guards must be said. */
export function checkAllowed(allow: unknown): asserts allow is AllowedDeclarations {
  if (allow === "any") return;
  const given = typeof allow === "object" && allow !== null ? (allow as Record<string, unknown>) : {};
  const [only, ...more] = Object.keys(given);
  if (more.length === 0 && only === "key") return checkKey(given.key, "allow.key");
  const { digests } = given;
  const areDigests =
    Array.isArray(digests) &&
    digests.length > 0 &&
    digests.every((it) => typeof it === "string" && DIGEST_PATTERN.test(it));
  if (more.length === 0 && areDigests) return;
  throw new AgentHooksRefused([
    {
      code: "option_invalid",
      path: "allow",
      message: 'expected { digests: [64 hexadecimal digits, …] }, { key } or "any"',
      hint: "a worker must be told whose guards it runs: docs/SCALE.md",
    },
  ]);
}

/** @throws AgentHooksRefused `option_invalid` */
export function checkKey(key: unknown, path: string): asserts key is string | Uint8Array {
  const isKey = typeof key === "string" || key instanceof Uint8Array;
  if (isKey && Buffer.byteLength(key) >= KEY_BYTES_MIN) return;
  const message = `expected at least ${KEY_BYTES_MIN} bytes`;
  throw new AgentHooksRefused([{ code: "option_invalid", path, message, hint: "openssl rand -hex 32" }]);
}
