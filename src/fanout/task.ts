// What one task of a fan-out may say, and how it becomes a spec that says everything. Every problem of every task is told, with its place,
// before anything is started.

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Issue } from "../errors.ts";
import { PROVIDERS, type Provider } from "../profile/events.ts";
import { fillTemplate, namesIn } from "./template.ts";

/** A task. Fields that are not named here are for the template. */
export interface FanOutTask {
  /** Unique within the fan-out. @default its index */
  readonly id?: string;
  /** Wins over the template. */
  readonly prompt?: string;
  /** Absolute, or relative to the fan-out's `cwd`. @default the fan-out's */
  readonly cwd?: string;
  /** Runs in a git worktree of its own. @default the fan-out's */
  readonly worktree?: boolean;
  /** Commit, branch or tag that the worktree shows. @default the fan-out's, else HEAD */
  readonly base?: string;
  /** @default the fan-out's */
  readonly provider?: Provider;
  /** Path of a declaration file, in place of the fan-out's hooks. Absolute, or relative to the fan-out's `cwd`. */
  readonly hooks?: string;
  readonly model?: string;
  /** claude: US dollars that its attempts may cost together. @default the fan-out's */
  readonly maxCostUsd?: number;
  /** claude: turns that its attempts may take together. @default the fan-out's */
  readonly maxTurns?: number;
  /** Seconds that its attempts may take together. @default the fan-out's */
  readonly maxSeconds?: number;
  readonly [field: string]: unknown;
}

/** A task with the place it came from. */
export interface PlacedTask {
  readonly task: unknown;
  /** For example `tasks.jsonl:3`, or `tasks[2]`. */
  readonly place: string;
  /** Every value is text, as in CSV: numbers and truth values are read from it, and an empty one counts as not there. */
  readonly isText?: boolean;
}

/** A task that says everything; kept in the state as JSON. */
export interface TaskSpec {
  readonly index: number;
  readonly id: string;
  readonly prompt: string;
  /** Absolute. */
  readonly cwd: string;
  readonly worktree: boolean;
  readonly base?: string;
  readonly provider: Provider;
  /** Absolute; undefined: the fan-out's. */
  readonly hooks?: string;
  readonly model?: string;
  readonly maxCostUsd?: number;
  readonly maxTurns?: number;
  readonly maxSeconds?: number;
}

export interface TaskDefaults {
  /** Absolute. */
  readonly cwd: string;
  readonly provider?: Provider | undefined;
  readonly prompt?: string | undefined;
  readonly worktree?: boolean | undefined;
  readonly base?: string | undefined;
  readonly model?: string | undefined;
  readonly maxCostUsd?: number | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxSeconds?: number | undefined;
}

const LONGEST_SECONDS = 2_147_483;
const NUMBERS = {
  maxCostUsd: "US dollars, above 0",
  maxTurns: "a whole number, above 0",
  maxSeconds: `seconds, above 0 and at most ${LONGEST_SECONDS}`,
} as const;
const TEXTS = ["id", "prompt", "cwd", "base", "provider", "hooks", "model"] as const;
const KNOWN: readonly string[] = [...TEXTS, "worktree", ...Object.keys(NUMBERS)];
/** It names a folder and a row. */
const ID_MAX = 200;

export interface CheckedTasks {
  readonly specs: readonly TaskSpec[];
  readonly issues: readonly Issue[];
}

export function checkTasks(placed: readonly PlacedTask[], defaults: TaskDefaults): CheckedTasks {
  const issues: Issue[] = [];
  const specs: TaskSpec[] = [];
  const idAt = new Map<string, string>();
  for (const [index, one] of placed.entries()) {
    const { place } = one;
    const say: Say = (field, message, hint = "see docs/FANOUT.md") =>
      issues.push({
        code: "option_invalid",
        path: field === "" ? place : `${place} ${field}`,
        message,
        hint,
      });
    const spec = checkTask(one, index, defaults, say);
    if (spec === undefined) continue;
    const first = idAt.get(spec.id);
    if (first !== undefined)
      say("id", `${show(spec.id)} is also the id of ${first}`, "give each task its own");
    idAt.set(spec.id, first ?? place);
    specs.push(spec);
  }
  if (placed.length === 0)
    issues.push({
      code: "option_invalid",
      path: "tasks",
      message: "there is no task",
      hint: "name at least one",
    });
  return { specs, issues };
}

/** Of all that tells what runs: the same tasks under the same defaults have the same. */
export function digestTasks(specs: readonly TaskSpec[], hooks: string): string {
  const said = specs.map(({ index: _index, ...spec }) =>
    Object.entries(spec).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  return createHash("sha256")
    .update(JSON.stringify([hooks, said]))
    .digest("hex");
}

type Say = (field: string, message: string, hint?: string) => void;

function checkTask(
  { task: given, isText = false }: PlacedTask,
  index: number,
  defaults: TaskDefaults,
  say: Say,
): TaskSpec | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    say("", `expected a task, got ${show(given)}`);
    return undefined;
  }
  const task = isText
    ? readTexts(given as Record<string, string>)
    : { ...(given as Record<string, unknown>) };
  for (const [name, value] of Object.entries(task))
    if (value === null || value === undefined) delete task[name];
  let isGood = true;
  const bad: Say = (...words) => {
    isGood = false;
    say(...words);
  };
  for (const name of TEXTS) {
    const value = name === "id" && typeof task.id === "number" ? String(task.id) : task[name];
    if (value === undefined) continue;
    if (typeof value !== "string" || value.trim() === "" || value.includes("\0"))
      bad(name, `expected text, got ${show(value)}`);
  }
  if (task.worktree !== undefined && typeof task.worktree !== "boolean")
    bad("worktree", `expected true or false, got ${show(task.worktree)}`);
  for (const [name, wanted] of Object.entries(NUMBERS)) {
    const value = task[name];
    if (value !== undefined && !isAmount(name, value)) bad(name, `expected ${wanted}, got ${show(value)}`);
  }
  const used = new Set(defaults.prompt === undefined ? [] : namesIn(defaults.prompt));
  for (const name of Object.keys(task)) {
    const meant = KNOWN.includes(name) || used.has(name) ? undefined : nearest(name);
    if (meant !== undefined)
      bad(name, "is no field of a task, and the template does not use it", `did you mean ${meant}?`);
  }
  if (!isGood) return undefined;
  const read = <T>(name: string): T | undefined => task[name] as T | undefined;

  const provider = read<string>("provider") ?? defaults.provider;
  if (provider === undefined)
    bad("provider", "is not there", `one of ${PROVIDERS.join(", ")}, here or for the fan-out`);
  else if (!PROVIDERS.includes(provider as Provider))
    bad("provider", `${show(provider)} is none`, `known: ${PROVIDERS.join(", ")}`);
  const cwd = resolve(defaults.cwd, read<string>("cwd") ?? "");
  if (!isDirectory(cwd))
    bad("cwd", `${show(cwd)} is no directory`, "a relative path is resolved against the fan-out's cwd");
  const id = read<string | number>("id") === undefined ? String(index) : String(task.id);
  if (id.length > ID_MAX) bad("id", `has ${id.length} characters`, `at most ${ID_MAX}`);
  const prompt = promptOf(task, { id, index, template: defaults.prompt }, bad);
  const limits = {
    maxCostUsd: read<number>("maxCostUsd") ?? defaults.maxCostUsd,
    maxTurns: read<number>("maxTurns") ?? defaults.maxTurns,
    maxSeconds: read<number>("maxSeconds") ?? defaults.maxSeconds,
  };
  if (provider === "codex") {
    // A limit that nobody keeps would be silently absent.
    for (const name of ["maxCostUsd", "maxTurns"] as const)
      if (limits[name] !== undefined)
        bad(
          name,
          `${show(limits[name])} cannot be kept: codex tells neither costs nor turns`,
          "use maxSeconds",
        );
  }
  if (!isGood || prompt === undefined) return undefined;
  const hooks = read<string>("hooks");
  return dropUndefined<TaskSpec>({
    index,
    id,
    prompt,
    cwd,
    worktree: read<boolean>("worktree") ?? defaults.worktree ?? false,
    base: read<string>("base") ?? defaults.base,
    provider: provider as Provider,
    hooks: hooks === undefined ? undefined : resolve(defaults.cwd, hooks),
    model: read<string>("model") ?? defaults.model,
    ...limits,
  });
}

function promptOf(
  task: Readonly<Record<string, unknown>>,
  { id, index, template }: { id: string; index: number; template: string | undefined },
  bad: Say,
): string | undefined {
  if (typeof task.prompt === "string") return task.prompt;
  if (template === undefined) {
    bad(
      "prompt",
      "is not there, and there is no template",
      "give the task a prompt, or the fan-out a template",
    );
    return undefined;
  }
  const { text, missing } = fillTemplate(template, { ...task, id, index });
  for (const { name, value } of missing) {
    const seen =
      value === undefined ? "the task has no such field" : `cannot stand in a text: ${show(value)}`;
    bad(name, `{{${name}}} of the template: ${seen}`, "text, a number, or true and false");
  }
  if (missing.length > 0) return undefined;
  if (text.trim() === "") bad("prompt", "the template leaves nothing");
  return text;
}

/** What CSV says in text. What is no number stays text, and is told as such. */
function readTexts(row: Readonly<Record<string, string>>): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(row)) {
    if (text === "" && KNOWN.includes(name)) continue;
    if (name in NUMBERS)
      read[name] = text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
    else if (name === "worktree") read[name] = text === "true" ? true : text === "false" ? false : text;
    else read[name] = text;
  }
  return read;
}

export function isAmount(name: string, value: unknown): value is number {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) return false;
  if (name === "maxTurns") return Number.isInteger(value);
  return name !== "maxSeconds" || value <= LONGEST_SECONDS;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

const SHOWN_MAX = 80;

/** A value as a person may see it, short. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** Words with which a limit is named elsewhere, and the field that was meant. */
const LIMIT_WORDS: readonly (readonly [RegExp, keyof typeof NUMBERS])[] = [
  [/^(costs?|budget|usd)$/, "maxCostUsd"],
  [/^turns?$/, "maxTurns"],
  [/^(seconds?|secs?|timeout)$/, "maxSeconds"],
];

/**
 * The known field that a misspelt one was meant to be. A limit that nobody keeps would be silently absent: what begins with `max`, or has
 * only words of limits, is one.
 */
function nearest(name: string): string | undefined {
  const plain = (word: string) => word.toLowerCase().replaceAll(/[^a-z]/g, "");
  const like = KNOWN.find(
    (known) =>
      plain(known) === plain(name) || (known.length > 3 && distance(plain(known), plain(name)) === 1),
  );
  return like ?? nearestLimit(name);
}

/** They may stand beside such a word, and are none themselves. */
const LIMIT_MARKS: readonly string[] = ["limit", "total", "ms"];

function nearestLimit(name: string): string | undefined {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    // `maxcost` has two words too.
    .flatMap((word) => (word.startsWith("max") ? ["max", word.slice(3)] : word))
    .filter((word) => word !== "");
  const meant = words.flatMap((word) => LIMIT_WORDS.find(([pattern]) => pattern.test(word))?.[1] ?? []);
  if (words[0] === "max") return meant[0] ?? Object.keys(NUMBERS).join(", ");
  const isLimit = words.every(
    (word) => LIMIT_MARKS.includes(word) || LIMIT_WORDS.some(([it]) => it.test(word)),
  );
  return isLimit ? meant[0] : undefined;
}

/** Letters to change, add or take away, or neighbours to swap; 2 stands for more than one. */
function distance(one: string, other: string): 0 | 1 | 2 {
  if (one === other) return 0;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [rest, otherRest] = [one.slice(at), other.slice(at)];
  const isSwap =
    rest.length > 1 &&
    rest[0] === otherRest[1] &&
    rest[1] === otherRest[0] &&
    rest.slice(2) === otherRest.slice(2);
  const isOne =
    rest.slice(1) === otherRest.slice(1) || rest === otherRest.slice(1) || rest.slice(1) === otherRest;
  return isOne || isSwap ? 1 : 2;
}

export function dropUndefined<T>(value: { [Name in keyof T]: T[Name] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, it]) => it !== undefined)) as T;
}
