// Looks for secrets in what a tool is given and in what it gave back, with the rules of secretlint. Names kind and place, never the value. A
// module of its own: its rules are optional packages, and agent-bridle/hooks loads without them.

import { createRequire } from "node:module";
import type { FunctionEntry } from "../declaration/types.ts";
import { deny } from "../profile/answer.ts";
import { isEventName } from "../profile/events.ts";
import { SECRET_PATTERNS } from "../redaction/patterns.ts";
import { checkOptions, checkStrings, optionError } from "./options.ts";
import { placeOf } from "./prompt-text.ts";
import { readCall, stringsIn } from "./read-call.ts";

export interface SecretScanOptions {
  /** Kinds of tools that are looked at. @default ["edit", "shell", "web", "mcp", "agent", "other"] before a call, and all kinds after it */
  readonly on?: readonly ScannedKind[];
}

export type ScannedKind = "shell" | "read" | "edit" | "web" | "mcp" | "agent" | "other";

const NAME = "secretScan";
const KINDS: readonly ScannedKind[] = ["shell", "read", "edit", "web", "mcp", "agent", "other"];
const CORE = "@secretlint/core";
const RULES = "@secretlint/secretlint-rule-preset-recommend";
const SHOWN_MAX = 5;
/** Longest text that is looked at, in UTF-16 units; a longer one cannot be judged in time. */
const TEXT_MAX = 4 * 1024 * 1024;

type Lint = (text: string) => Promise<readonly { readonly kind: string; readonly index: number }[]>;

/**
 * A guard for `PreToolUse`, where it denies, and `PostToolUse`, where the model is told. Throws `Error` at once when the optional packages
 * are not installed, and `TypeError` for options that cannot be used.
 * @example const scan = secretScan(); // { PreToolUse: [{ hooks: [scan] }], PostToolUse: [{ hooks: [scan] }] }
 */
export function secretScan(options: SecretScanOptions = {}): FunctionEntry {
  checkOptions(NAME, options, ["on"]);
  const on =
    options.on === undefined
      ? undefined
      : new Set<string>(checkStrings(`${NAME}: on`, options.on, { isEmptyFine: false }));
  for (const kind of on ?? [])
    if (!(KINDS as readonly string[]).includes(kind))
      throw optionError(`${NAME}: on`, `kinds of tools (${KINDS.join(", ")})`, kind);
  requirePeers();
  let loading: Promise<Lint> | undefined;
  return {
    type: "function",
    name: NAME,
    handler: async (envelope) => {
      const { hook_event_name: event } = envelope;
      const { tool, kind } = readCall(envelope);
      const isAfter = event === "PostToolUse" || event === "PostToolUseFailure";
      if (!isAfter && event !== "PreToolUse" && event !== "PermissionRequest")
        throw new TypeError(
          `${NAME}: ${isEventName(event) ? event : "this event"} carries no tool; declare it on PreToolUse or PostToolUse`,
        );
      if (on === undefined ? !isAfter && kind === "read" : !on.has(kind)) return undefined;
      loading ??= loadLint();
      const lint = await loading;
      const found: string[] = [];
      const field = isAfter ? "tool_response" : "tool_input";
      for (const { at, text } of stringsIn(envelope[field], field)) {
        if (text.length > TEXT_MAX)
          return deny(
            envelope,
            `${NAME}: ${at} has ${text.length} characters; at most ${TEXT_MAX} can be looked at`,
          );
        for (const { kind: secret, index } of await lint(text))
          found.push(`${secret} in ${at} at ${placeOf(text, index)}`);
      }
      if (found.length === 0) return undefined;
      const more = found.length > SHOWN_MAX ? ` and ${found.length - SHOWN_MAX} more` : "";
      const where = `${[...new Set(found)].slice(0, SHOWN_MAX).join(", ")}${more}`;
      return deny(
        envelope,
        isAfter
          ? `${NAME}: what ${tool} gave back holds secrets (${where}): do not repeat, store or send them`
          : `${NAME}: the call holds secrets (${where}): take them from the environment or a secret store instead`,
      );
    },
  };
}

function requirePeers(): void {
  const { resolve } = createRequire(import.meta.url);
  const missing = [CORE, RULES].filter((name) => {
    try {
      resolve(name);
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length > 0)
    throw new Error(
      `${NAME}: ${missing.join(" and ")} cannot be found; run: npm install ${[CORE, RULES].map((name) => `${name}@10`).join(" ")}`,
    );
}

/** Shapes of redaction that the rules may not have yet. */
const OWN = SECRET_PATTERNS.filter(({ name }) => name === "vendor-key" || name === "pem" || name === "jwt");

async function loadLint(): Promise<Lint> {
  const { lintSource } = await import("@secretlint/core");
  const { creator } = await import("@secretlint/secretlint-rule-preset-recommend");
  const config = { rules: [{ id: RULES, rule: creator }] };
  return async (text) => {
    // The rules obey comments that switch them off, and the text is the agent's: same length, so that places stay.
    const content = text.replaceAll(/secretlint-(?=disable|enable)/gi, "secretlint_");
    const { messages } = await lintSource({
      source: { filePath: "text", content, ext: "", contentType: "text" },
      options: { config, noPhysicFilePath: true, maskSecrets: true },
    });
    const found = messages.map(({ ruleId, messageId, range: [index, end] }) => ({
      kind: `${ruleId.replace(/^.*secretlint-rule-/, "")}${messageId === "" ? "" : ` (${messageId})`}`,
      index,
      end,
    }));
    const isFound = (at: number) => found.some(({ index, end }) => index <= at && at < end);
    const own = OWN.flatMap(({ name, pattern }) =>
      [...text.matchAll(pattern)]
        .filter(({ index }) => !isFound(index))
        .map(({ index }) => ({ kind: name, index })),
    );
    return [...found, ...own];
  };
}
