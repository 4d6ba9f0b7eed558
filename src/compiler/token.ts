// The one proof that a declaration was checked. Only compileAgentHooks can mint it; spawnAgent takes nothing else.

import { showUrl } from "../declaration/http-url.ts";
import type { HookEntry } from "../declaration/types.ts";
import { AgentHooksRefused } from "../errors.ts";
import type { Provider } from "../profile/events.ts";
import type { Where } from "../profile/where.ts";
import type { Downgrade } from "../prove/proof.ts";
import type { ExplainPlan } from "./explain.ts";
import type {
  CompiledEntry,
  EntryProvenance,
  HookPlan,
  ProofSummary,
  ProveState,
  Transport,
} from "./plan.ts";
import { type CompileWarning, listWarnings } from "./warnings.ts";

const mintKey = Symbol("mint");
const minted = new WeakMap<object, Minted>();

interface Minted {
  readonly plan: HookPlan;
  readonly explain: ExplainPlan;
}

const CALLER: EntryProvenance = { tier: "caller", trust: "own" };

export interface HookDescription {
  readonly provider: Provider;
  readonly providerVersion: string;
  readonly binary: string;
  readonly digest: string;
  readonly projectRoot: string;
  readonly prove: ProveState;
  /** The proof it rests on. */
  readonly proof?: ProofSummary;
  /** Stricter forms rendered because the declared one was seen not to land. */
  readonly downgrades: readonly Downgrade[];
  /** How the agent asks about each event: over its own pipes (`callback`), or by a shell command (`shim`). */
  readonly transports: Readonly<Record<string, Transport>>;
  readonly hooks: readonly {
    readonly id: string;
    readonly event: string;
    readonly matcher?: string;
    readonly where?: Where;
    readonly type: HookEntry["type"];
    /** Program and number of further words; arguments may hold secrets and are not shown. Of http the address, without its query's values. */
    readonly program: string;
    readonly timeoutMs: number;
    readonly onFailure: "closed" | "open";
    readonly grants: boolean;
    readonly once?: true;
    readonly async?: true;
    readonly persistent?: true;
    /** Names only. */
    readonly env: readonly string[];
    /** Of http; names only. */
    readonly headers?: readonly string[];
    readonly tier: EntryProvenance["tier"];
    readonly source?: string;
    /** `file:line`. */
    readonly origin?: string;
    readonly trust: EntryProvenance["trust"];
  }[];
  /** Entries that are not trusted, on events that nothing waits for: they will not run. */
  readonly skipped: readonly ({
    readonly id: string;
    readonly event: string;
    readonly matcher?: string;
  } & EntryProvenance)[];
  /** What a caller should know of a declaration that is fine. */
  readonly warnings: readonly CompileWarning[];
}

/** Sealed result of `compileAgentHooks`. Reusable: many runs, many working directories. Cannot be built, copied or extended. */
export class RenderedHooks {
  readonly #plan: HookPlan;
  /** sha256 over everything that decides what runs. */
  readonly digest: string;

  /** @internal */
  constructor(key: symbol, { plan, explain }: Minted) {
    if (key !== mintKey) throw forged("RenderedHooks was constructed outside compileAgentHooks");
    this.#plan = plan;
    this.digest = plan.digest;
    minted.set(this, { plan, explain });
    Object.freeze(this);
  }

  /** What was compiled, JSON-safe and without secrets. */
  describe(): HookDescription {
    const { provider, binary, digest, projectRoot, prove, proof, downgrades } = this.#plan;
    const { entries, skipped, provenance, transports } = this.#plan;
    return {
      provider,
      providerVersion: binary.version,
      binary: binary.identity.path,
      digest,
      projectRoot,
      prove,
      ...(proof === undefined ? {} : { proof }),
      downgrades,
      transports: { ...transports },
      hooks: entries.map((entry) => ({
        id: entry.id,
        event: entry.event,
        ...(entry.matcher === undefined ? {} : { matcher: entry.matcher }),
        ...(entry.where === undefined ? {} : { where: entry.where }),
        type: entry.type,
        program: programOf(entry),
        timeoutMs: entry.timeoutMs,
        onFailure: entry.onFailure,
        grants: entry.grants,
        ...(entry.once === true ? { once: true as const } : {}),
        ...(entry.async === true ? { async: true as const } : {}),
        ...(isPersistent(entry) ? { persistent: true as const } : {}),
        env: entry.type === "command" ? Object.keys(entry.env) : [],
        ...(entry.type === "http" ? { headers: Object.keys(entry.headers) } : {}),
        ...(provenance[entry.id] ?? CALLER),
      })),
      skipped: skipped.map(({ id, event, matcher }) => ({
        id,
        event,
        ...(matcher === undefined ? {} : { matcher }),
        ...(provenance[id] ?? CALLER),
      })),
      warnings: listWarnings(this.#plan),
    };
  }

  toJSON(): HookDescription {
    return this.describe();
  }
}

/** Asked over its stdin and stdout, in a process that stays. */
export function isPersistent(entry: CompiledEntry): boolean {
  return entry.type === "command" && entry.persistent === true;
}

export function programOf(entry: CompiledEntry): string {
  if (entry.type === "command") return `${entry.argv[0]} (+${entry.argv.length - 1})`;
  return entry.type === "http" ? `POST ${showUrl(entry.url)}` : entry.name;
}

/** @internal Called by compileAgentHooks alone. `explain` comes with it, so that who holds a token needs to load nothing to explain it. */
export function mintToken(plan: HookPlan, explain: ExplainPlan): RenderedHooks {
  return new RenderedHooks(mintKey, { plan: deepFreeze(plan), explain });
}

/** The plan behind a token. Throws `token_forged` for anything that compileAgentHooks did not mint. @internal */
export function planOf(token: unknown): HookPlan {
  return mintedOf(token).plan;
}

/** As planOf, with how to explain it. @internal */
export function mintedOf(token: unknown): Minted {
  const known = typeof token === "object" && token !== null ? minted.get(token) : undefined;
  if (known === undefined || Object.getPrototypeOf(token) !== RenderedHooks.prototype) {
    throw forged("hooks is not a token minted by compileAgentHooks");
  }
  return known;
}

function forged(message: string): AgentHooksRefused {
  const hint = "pass the value that compileAgentHooks returned, not a copy of it";
  return new AgentHooksRefused([{ code: "token_forged", path: "hooks", message, hint }]);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
