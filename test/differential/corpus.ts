// Pairs of an envelope and what a chain of hooks does with it: by hand, where a rule is known to be sharp, and made by a seeded generator.
// What they come to is nowhere written here: the worlds are held against each other.

import type { Json, JsonObject } from "../../src/json.ts";
import type { EventName } from "../../src/profile/events.ts";

export type CorpusEvent = Extract<
  EventName,
  "PreToolUse" | "PostToolUse" | "UserPromptSubmit" | "Stop" | "SessionStart"
>;

/** What a hook does when it is called. */
export interface Behaviour {
  readonly stdout?: string;
  readonly stderr?: string;
  /** Exit code, or the signal by which it dies. @default 0 */
  readonly end?: number | "KILL" | "TERM";
  readonly onFailure?: "open" | "closed";
  readonly grants?: boolean;
  readonly matcher?: string;
}

export interface Pair {
  readonly name: string;
  readonly event: CorpusEvent;
  readonly input: JsonObject;
  readonly hooks: readonly Behaviour[];
  /** Made by the generator: one broker is enough, taken in turn. */
  readonly generated?: number;
}

const LS: JsonObject = { command: "ls" };

const pre = (name: string, ...hooks: Behaviour[]): Pair => ({ name, event: "PreToolUse", input: LS, hooks });
const at = (event: CorpusEvent, name: string, ...hooks: Behaviour[]): Pair => ({
  name,
  event,
  input: LS,
  hooks,
});
const say = (answer: Json, more: Behaviour = {}): Behaviour => ({ stdout: JSON.stringify(answer), ...more });
const specific = (fields: JsonObject, event: CorpusEvent = "PreToolUse"): JsonObject => ({
  hookSpecificOutput: { hookEventName: event, ...fields },
});
const rewriteTo = (updatedInput: Json, more: Behaviour = {}) => say(specific({ updatedInput }), more);
const denies = (reason: string) =>
  say(specific({ permissionDecision: "deny", permissionDecisionReason: reason }));

const BY_HAND: readonly Pair[] = [
  pre("silence", {}),
  pre("exit 2 with a reason", { end: 2, stderr: "no\n" }),
  pre("exit 2 without a reason", { end: 2 }),
  pre("exit 2 with an allow on stdout", { end: 2, ...say(specific({ permissionDecision: "allow" })) }),
  pre("exit 1", { end: 1, stderr: "oops" }),
  pre("exit 1, open", { end: 1, stderr: "oops", onFailure: "open" }),
  pre("exit 1 with a deny on stdout", { ...denies("no"), end: 1 }),
  pre("exit 1 with a deny on stdout, open", { ...denies("no"), end: 1, onFailure: "open" }),
  pre("exit 127", { end: 127 }),
  pre("exit 255, open", { end: 255, onFailure: "open" }),
  pre("killed", { end: "KILL" }),
  pre("terminated, open", { end: "TERM", onFailure: "open" }),
  pre("deny", denies("not today")),
  pre("deny of several lines", denies("one\ntwo\n  three")),
  pre("deny with a blank reason", denies("  ")),
  pre(
    "deny with a number for a reason",
    say(specific({ permissionDecision: "deny", permissionDecisionReason: 7 })),
  ),
  pre("deny at the top", say({ permissionDecision: "deny" })),
  pre("block at the top", say({ decision: "block", reason: "no" })),
  pre("ask", say(specific({ permissionDecision: "ask", permissionDecisionReason: "sure?" }))),
  pre("allow", say(specific({ permissionDecision: "allow" }))),
  pre("allow that grants", say(specific({ permissionDecision: "allow" }), { grants: true })),
  pre("an unknown decision", say(specific({ permissionDecision: "Deny" }))),
  pre("a decision that is null", say(specific({ permissionDecision: null }))),
  pre(
    "a decision for another event",
    say({ hookSpecificOutput: { hookEventName: "PostToolUse", permissionDecision: "deny" } }),
  ),
  pre("a decision without an event", say({ hookSpecificOutput: { permissionDecision: "deny" } })),
  pre("hookSpecificOutput that is text", say({ hookSpecificOutput: "deny" })),
  pre("continue: false", say({ continue: false, stopReason: "enough" })),
  pre("continue: true", say({ continue: true })),
  pre("suppressOutput", say({ suppressOutput: true })),
  pre("plain chatter", { stdout: "checking…\nfine" }),
  pre("chatter with a brace", { stdout: "checking {1}" }),
  pre("two objects", { stdout: "{}{}" }),
  pre("a cut object", { stdout: '{"hookSpecificOutput":{"permissionDecision":"de' }),
  pre("a list", { stdout: "[]" }),
  pre("null", { stdout: "null" }),
  pre("an empty object", { stdout: "{}" }),
  pre("a byte order mark before a deny", {
    stdout: `\uFEFF${JSON.stringify(specific({ permissionDecision: "deny" }))}`,
  }),
  pre("a deny printed over several lines", {
    stdout: JSON.stringify(specific({ permissionDecision: "deny" }), null, 2),
  }),
  pre("a key twice", { stdout: '{"decision":"block","decision":"approve"}' }),
  pre("a rewrite", rewriteTo({ command: "ls -l" })),
  pre(
    "a rewrite with allow",
    say(specific({ permissionDecision: "allow", updatedInput: { command: "ls -l" } })),
  ),
  pre(
    "a rewrite with deny",
    say(specific({ permissionDecision: "deny", updatedInput: { command: "ls -l" } })),
  ),
  pre("a rewrite that drops a field", rewriteTo({ command: "ls", description: "short" })),
  pre("a rewrite without a command", rewriteTo({ cmd: "ls" })),
  pre("a rewrite that is a list", rewriteTo(["ls"])),
  pre("a rewrite that is null", rewriteTo(null)),
  pre("a rewrite at the top", say({ updatedInput: { command: "ls -l" } })),
  pre("a rewrite at the top, open", say({ updatedInput: { command: "ls -l" } }, { onFailure: "open" })),
  pre("two rewrites", rewriteTo({ command: "one" }), rewriteTo({ command: "two" })),
  pre("a rewrite, and a deny behind it", rewriteTo({ command: "one" }), denies("no")),
  pre("a deny, and a rewrite behind it", denies("no"), rewriteTo({ command: "one" })),
  pre("context", say(specific({ additionalContext: "know this" }))),
  pre(
    "context of two",
    say(specific({ additionalContext: "one" })),
    say(specific({ additionalContext: "two" })),
  ),
  pre("context at the top", say({ additionalContext: "know this" })),
  pre("context that is blank", say(specific({ additionalContext: "  " }))),
  pre("context, then a deny", say(specific({ additionalContext: "one" })), denies("no")),
  pre("context with a rewrite", say(specific({ additionalContext: "one", updatedInput: { command: "x" } }))),
  pre("a failure, open, before a deny", { end: 1, onFailure: "open" }, denies("no")),
  pre("a failure, closed, before a hook that would rewrite", { end: 1 }, rewriteTo({ command: "x" })),
  pre("a matcher of another tool", { ...denies("no"), matcher: "Write" }),
  pre("a matcher by kind", { ...denies("no"), matcher: "kind:shell" }),
  pre("a matcher in another case", { ...denies("no"), matcher: "bash" }),
  pre("a matcher that is an expression", { ...denies("no"), matcher: "^B.*h$" }),
  pre("another system's word for no", say({ verdict: "deny" })),
  pre("another system's word for yes", say({ allowed: true })),
  pre("another system's word for no, open", say({ verdict: "deny" }, { onFailure: "open" })),
  pre("unknown fields", say({ foo: 1, bar: { baz: [] } })),
  pre("an emoji in a reason", denies("no 🚫")),
  at("PostToolUse", "a block", say({ decision: "block", reason: "look again" })),
  at("PostToolUse", "exit 2", { end: 2, stderr: "look again" }),
  at("PostToolUse", "a failure", { end: 1, stderr: "oops" }),
  at("PostToolUse", "context", say(specific({ additionalContext: "note" }, "PostToolUse"))),
  at("PostToolUse", "context at the top", say({ additionalContext: "note" })),
  at("PostToolUse", "a permissionDecision", say(specific({ permissionDecision: "deny" }, "PostToolUse"))),
  at(
    "PostToolUse",
    "a rewrite, which is nothing here",
    say(specific({ updatedInput: { command: "x" } }, "PostToolUse")),
  ),
  at(
    "PostToolUse",
    "a block, and context behind it",
    say({ decision: "block", reason: "no" }),
    say(specific({ additionalContext: "x" }, "PostToolUse")),
  ),
  at("PostToolUse", "an unknown decision", say({ decision: "approve" })),
  at("UserPromptSubmit", "a block", say({ decision: "block", reason: "not this" })),
  at("UserPromptSubmit", "exit 2", { end: 2, stderr: "not this" }),
  at("UserPromptSubmit", "a failure", { end: 3 }),
  at("UserPromptSubmit", "a failure, open", { end: 3, onFailure: "open" }),
  at("UserPromptSubmit", "plain text is context", { stdout: "today is Monday" }),
  at("UserPromptSubmit", "context", say(specific({ additionalContext: "note" }, "UserPromptSubmit"))),
  at(
    "UserPromptSubmit",
    "a permissionDecision",
    say(specific({ permissionDecision: "deny" }, "UserPromptSubmit")),
  ),
  at("Stop", "a block", say({ decision: "block", reason: "tests fail" })),
  at("Stop", "exit 2", { end: 2, stderr: "tests fail" }),
  at("Stop", "a failure", { end: 1 }),
  at("Stop", "an unknown decision", say({ decision: "continue" })),
  at("SessionStart", "plain text is context", { stdout: "welcome" }),
  at("SessionStart", "context", say(specific({ additionalContext: "welcome" }, "SessionStart"))),
  at("SessionStart", "a block, which stops nothing", say({ decision: "block", reason: "no" })),
  at("SessionStart", "a failure", { end: 1 }),
  at("SessionStart", "exit 2, which stops nothing", { end: 2, stderr: "no" }),
];

const SEED = 20_261_130;
const GENERATED = 260;

/** A small generator with a fixed seed: the corpus is the same everywhere. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const EVENTS: readonly CorpusEvent[] = [
  "PreToolUse",
  "PreToolUse",
  "PreToolUse",
  "PreToolUse",
  "PostToolUse",
  "UserPromptSubmit",
  "Stop",
  "SessionStart",
];

function generate(): Pair[] {
  const random = createRandom(SEED);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const value = (): Json =>
    pick<Json>([
      "deny",
      "allow",
      "ask",
      "block",
      "approve",
      "",
      "Deny",
      null,
      true,
      7,
      [],
      {},
      { deny: true },
      "no\nway",
    ]);
  const fields = (keys: readonly string[], most: number): JsonObject =>
    Object.fromEntries(Array.from({ length: random(most + 1) }, () => [pick(keys), value()]));
  const TOP = [
    "decision",
    "reason",
    "continue",
    "stopReason",
    "additionalContext",
    "suppressOutput",
    "verdict",
    "note",
    "updatedInput",
  ];
  const INNER = [
    "permissionDecision",
    "permissionDecisionReason",
    "additionalContext",
    "updatedInput",
    "decision",
    "other",
  ];
  const stdout = (event: CorpusEvent): string => {
    const kind = random(10);
    if (kind === 0) return "";
    if (kind === 1) return pick(["fine", "warning: {x}", "null", "3", '"deny"', "[1]", "\n\n", "{", "deny"]);
    const answer: JsonObject = fields(TOP, 2);
    if (random(4) > 0) {
      const named = random(6) === 0 ? pick(EVENTS) : event;
      const inner: JsonObject = { ...(random(5) === 0 ? {} : { hookEventName: named }), ...fields(INNER, 3) };
      if (random(4) === 0)
        inner.updatedInput = pick<Json>([{ command: "true" }, { command: 7 }, { path: "a" }, {}]);
      answer.hookSpecificOutput = inner;
    }
    const text = JSON.stringify(answer, null, pick([0, 0, 2]));
    return pick([text, text, text, text, `${text}\n`, `\uFEFF${text}`, `log\n${text}`, text.slice(0, -1)]);
  };
  return Array.from({ length: GENERATED }, (_, index) => {
    const event = pick(EVENTS);
    const hooks = Array.from(
      { length: 1 + random(3) },
      (): Behaviour => ({
        stdout: stdout(event),
        stderr: pick(["", "", "because\n", "  "]),
        end: pick<NonNullable<Behaviour["end"]>>([0, 0, 0, 0, 0, 0, 1, 2, 3, 127, "KILL"]),
        onFailure: pick<"open" | "closed">(["closed", "closed", "open"]),
        grants: random(4) === 0,
        ...(event === "PreToolUse" || event === "PostToolUse"
          ? { matcher: pick(["", "*", "Bash", "kind:shell", "Bash|Write", "Write", "Ba.h", "kind:edit"]) }
          : {}),
      }),
    );
    return {
      name: `generated ${index}`,
      event,
      input: { command: `echo ${index}` },
      hooks,
      generated: index,
    };
  });
}

export const CORPUS: readonly Pair[] = [...BY_HAND, ...generate()];
