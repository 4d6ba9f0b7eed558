// What a host may be given, and the checks on it.

import { isAbsolute } from "node:path";
import type { Issue } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import type { HostHook } from "./host-hook.ts";
import type { HostHooks } from "./host-hooks.ts";
import { isPermissionMode, PERMISSION_MODES, type PermissionOptions } from "./permission.ts";
import type { ReceiptSink } from "./receipt-writer.ts";
import type { SecurityPre, ToolPost, ToolPre } from "./tool-types.ts";

/** Something that went wrong beside a verdict. */
export interface HostFault {
  readonly kind:
    | "receipts_failed"
    | "command_changed"
    | "context_undelivered"
    /** A persistent guard had processes left when it ended. */
    | "guard_leftovers"
    /** A declared hook is not trusted and is left out. */
    | "command_untrusted";
  /** Redacted. */
  readonly detail: string;
}

export interface HostOptions {
  /** Declared hooks, from `compileHostHooks`. @default none */
  hooks?: HostHooks;
  /** Hooks in this process. @default none */
  inProcess?: readonly HostHook[];
  /** `false`: no hook runs, and every `run*` returns at once. @default true */
  enabled?: boolean;
  /** In every envelope and receipt. @default a new UUID */
  runId?: string;
  /** Session of calls that name none. @default a new UUID */
  sessionId?: string;
  /** Opaque, in every receipt. @default `runId` */
  ownerId?: string;
  scope?: string;
  /** Absolute: `cwd` of envelopes and of commands, unless a call names another one. @default the declaration's project root, else the process's */
  cwd?: string;
  /** A store, or a function that is called once a receipt. @default none: nothing is written */
  receipts?: ReceiptSink;
  /** @default a process warning (`BridleHostFault`) */
  onFault?: (fault: HostFault) => void;
  /** What `env:NAME` is read from, and what hooks inherit a few plain variables of. @default the process's own */
  env?: NodeJS.ProcessEnv;
  /** Further values that must show in no receipt. */
  secrets?: readonly string[];
  /** Around every tool, inside of the hooks. */
  inner?: { readonly pre?: readonly ToolPre[]; readonly post?: readonly ToolPost[] };
  /** The last word on every tool's input, after every rewrite. */
  securityPre?: SecurityPre;
  permission?: PermissionOptions;
  /** Times that a model call is made again when an `ErrorOccurred` hook says `retry`. 0 to 100. @default 3 */
  maxRetries?: number;
}

export const DEFAULT_MAX_RETRIES = 3;
export const MAX_RETRIES_LIMIT = 100;

const KEYS: readonly (keyof HostOptions)[] = [
  "hooks",
  "inProcess",
  "enabled",
  "runId",
  "sessionId",
  "ownerId",
  "scope",
  "cwd",
  "receipts",
  "onFault",
  "env",
  "secrets",
  "inner",
  "securityPre",
  "permission",
  "maxRetries",
];

export function checkHostOptions(options: HostOptions): Issue[] {
  const issues: Issue[] = [];
  if (!isObject(options)) {
    const message = `expected an object, got ${JSON.stringify(options) ?? typeof options}`;
    return [{ code: "option_invalid", path: "options", message, hint: "" }];
  }
  const expect = (isRight: boolean, path: string, what: string, value: unknown) => {
    if (isRight) return;
    const shown = typeof value === "function" ? "a function" : (JSON.stringify(value) ?? String(value));
    issues.push({ code: "option_invalid", path, message: `expected ${what}, got ${shown}`, hint: "" });
  };
  const isOptional = (value: unknown, type: string) => value === undefined || typeof value === type;
  for (const key of Object.keys(options))
    expect((KEYS as readonly string[]).includes(key), key, `one of ${KEYS.join(", ")}`, key);
  const { inProcess, enabled, cwd, receipts, onFault, securityPre, maxRetries, permission, inner, secrets } =
    options;
  for (const name of ["runId", "sessionId", "ownerId", "scope"] as const)
    expect(options[name] === undefined || isName(options[name]), name, "a name", options[name]);
  expect(inProcess === undefined || Array.isArray(inProcess), "inProcess", "a list of hooks", inProcess);
  expect(isOptional(enabled, "boolean"), "enabled", "true or false", enabled);
  expect(cwd === undefined || (typeof cwd === "string" && isAbsolute(cwd)), "cwd", "an absolute path", cwd);
  expect(
    receipts === undefined || typeof receipts === "function" || typeof receipts?.write === "function",
    "receipts",
    "a store or a function",
    receipts,
  );
  const isSecrets = Array.isArray(secrets) && secrets.every((one) => typeof one === "string");
  // Not shown: it may hold some.
  expect(secrets === undefined || isSecrets, "secrets", "a list of texts", `a ${typeof secrets}`);
  expect(
    options.env === undefined || isObject(options.env),
    "env",
    "an object of variables",
    "something else",
  );
  expect(isOptional(onFault, "function"), "onFault", "a function", onFault);
  expect(isOptional(securityPre, "function"), "securityPre", "a function", securityPre);
  // A name that nobody reads would be a check that is silently absent.
  const expectFields = (value: object | undefined, path: string, known: readonly string[]) => {
    const isObject = value === undefined || isJsonObject(value);
    expect(isObject, path, `{ ${known.join(", ")} }`, value);
    for (const key of isObject ? Object.keys(value ?? {}) : [])
      expect(known.includes(key), `${path}.${key}`, `one of ${known.join(", ")}`, key);
    return isObject;
  };
  expectFields(inner, "inner", ["pre", "post"]);
  for (const list of ["pre", "post"] as const)
    expect(
      inner?.[list] === undefined ||
        (Array.isArray(inner[list]) && inner[list].every((one) => typeof one === "function")),
      `inner.${list}`,
      "a list of functions",
      inner?.[list],
    );
  expect(
    maxRetries === undefined ||
      (Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= MAX_RETRIES_LIMIT),
    "maxRetries",
    `an integer from 0 to ${MAX_RETRIES_LIMIT}`,
    maxRetries,
  );
  const isPermission = expectFields(permission, "permission", [
    "mode",
    "destructive",
    "approve",
    "timeoutMs",
  ]);
  if (isPermission && permission !== undefined) checkPermission(permission, expect);
  return issues;
}

function checkPermission(
  { mode, destructive, approve, timeoutMs }: PermissionOptions,
  expect: (isRight: boolean, path: string, what: string, value: unknown) => void,
): void {
  expect(mode === undefined || isPermissionMode(mode), "permission.mode", PERMISSION_MODES.join(", "), mode);
  expect(
    destructive === undefined ||
      (Array.isArray(destructive) && destructive.every((name) => typeof name === "string")),
    "permission.destructive",
    "a list of tool names",
    destructive,
  );
  expect(approve === undefined || typeof approve === "function", "permission.approve", "a function", approve);
  expect(
    timeoutMs === undefined || (typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= 86_400_000),
    "permission.timeoutMs",
    "milliseconds, above 0 and at most 86400000",
    timeoutMs,
  );
}

/** `isJsonObject` without a type that narrows: options hold more than JSON. */
function isObject(value: unknown): boolean {
  return isJsonObject(value);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}
