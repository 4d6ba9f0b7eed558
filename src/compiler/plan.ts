// What compile produces and everything after it reads: the checked declaration with every path resolved. Data only.

import type { Tier } from "../declaration/origin.ts";
import type { FunctionEntry } from "../declaration/types.ts";
import type { RefusalCode } from "../errors.ts";
import type { EventName, Provider } from "../profile/events.ts";
import type { Where } from "../profile/where.ts";
import type { Downgrade, Proof } from "../prove/proof.ts";

/** Identity of a file at compile time: re-checked before each use, re-hashed when any cheap field differs. */
export interface FileIdentity {
  /** Absolute real path. */
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly mode: number;
  readonly sha256: string;
}

interface CompiledEntryBase {
  /** Stable within the declaration, for example `PreToolUse[0].hooks[1]`. */
  readonly id: string;
  readonly event: EventName;
  readonly matcher: string | undefined;
  /** Beside the matcher: what the envelope must hold. */
  readonly where?: Where;
  readonly timeoutMs: number;
  readonly onFailure: "closed" | "open";
  readonly grants: boolean;
  /** Runs the first time it matches in a session, and never again. */
  readonly once?: boolean;
  /** Runs in the background: decides nothing, and its context is given with the next event that may carry one. */
  readonly async?: boolean;
}

export interface CompiledCommand extends CompiledEntryBase {
  readonly type: "command";
  /** argv[0] is an absolute real path. `{run_dir}` is still in it; everything else is what will run. */
  readonly argv: readonly string[];
  /** The program's absolute path before links were resolved; becomes the process's own argv[0]. */
  readonly argv0: string;
  /** As declared: a value `env:NAME` is read when a run starts. */
  readonly env: Readonly<Record<string, string>>;
  /** argv[0] and every regular file named in argv. */
  readonly files: readonly FileIdentity[];
  /** Started once a session and asked over its stdin and stdout (docs/PERSISTENT.md). */
  readonly persistent?: boolean;
}

export interface CompiledFunction extends CompiledEntryBase {
  readonly type: "function";
  readonly name: string;
  readonly handler: FunctionEntry["handler"];
  /** A failure is thrown to the caller as `HookExecutionError` instead of decided. Only hooks of the in-process host. */
  readonly throws?: boolean;
  /** A failure on a feedback event blocks too. Only hooks of the in-process host. */
  readonly closesFeedback?: boolean;
}

export interface CompiledHttp extends CompiledEntryBase {
  readonly type: "http";
  readonly url: string;
  /** As declared: a value `env:NAME` is read when the request is made. */
  readonly headers: Readonly<Record<string, string>>;
}

export type CompiledEntry = CompiledCommand | CompiledFunction | CompiledHttp;

/** Where an entry comes from, and why it may run. */
export interface EntryProvenance {
  /** `caller`: declared in code, or in a file that the caller named. */
  readonly tier: Tier | "caller";
  /** The entry's own `source`. */
  readonly source?: string;
  /** `file:line`. */
  readonly origin?: string;
  /** `own`: needs no pin. */
  readonly trust: "own" | "trusted" | "untrusted" | "changed";
}

/** An entry that is not trusted, on an event that nothing waits for. */
export interface SkippedEntry {
  readonly id: string;
  readonly event: EventName;
  readonly matcher: string | undefined;
  readonly code: Extract<RefusalCode, "command_untrusted" | "command_changed">;
  readonly message: string;
}

/** How the agent asks about an event: over its own pipes, or by a shell command that asks the broker. */
export type Transport = "callback" | "shim";

/** Deadlines of one rendered event, in seconds: `providerSeconds > shimSeconds > sum of the hooks' own`. */
export interface EventDeadline {
  readonly providerSeconds: number;
  readonly shimSeconds: number;
}

export interface ProviderBinary {
  readonly provider: Provider;
  readonly identity: FileIdentity;
  /** As the binary itself says, for example `2.1.332`. */
  readonly version: string;
  /** Programs that it starts from beside itself and that run tools: part of what is proven and checked. */
  readonly companions: readonly FileIdentity[];
}

/** `not_needed`: nothing declared blocks. `off`: the caller wanted no proof. */
export type ProveState = "proven" | "not_needed" | "off";

/** Which proof a token rests on. */
export interface ProofSummary {
  readonly digest: string;
  /** `shipped` with the package, `stored` on this machine before, or `ran` for this compile. */
  readonly source: "shipped" | "stored" | "ran";
  readonly network: "netns" | "env";
  readonly provedAt: string;
  readonly set: Proof["set"];
  /** Why a record on this machine was passed over. */
  readonly ignored?: string;
}

export interface HookPlan {
  readonly provider: Provider;
  readonly binary: ProviderBinary;
  /** The declaration's project root: relative argv words were resolved against it. */
  readonly projectRoot: string;
  /** In declaration order. */
  readonly entries: readonly CompiledEntry[];
  /** Declared, and left out. Not part of the digest. */
  readonly skipped: readonly SkippedEntry[];
  /** Of each entry by its id. Not part of the digest: a line that moved changes nothing. */
  readonly provenance: Readonly<Record<string, EntryProvenance>>;
  /** Events with at least one entry that the provider fires, plus the one Bridle always needs beside them: the canary, `SessionStart`. */
  readonly events: readonly EventName[];
  readonly deadlines: Readonly<Partial<Record<EventName, EventDeadline>>>;
  /** Of every rendered event. */
  readonly transports: Readonly<Partial<Record<EventName, Transport>>>;
  /** PATH given to hooks, fixed at compile. */
  readonly hookPath: string;
  readonly prove: ProveState;
  /** The proof that was relied on; undefined unless `prove` is `proven`. Not part of the digest. */
  readonly proof: ProofSummary | undefined;
  /** Stricter forms rendered where the proof showed that the declared one does not land. */
  readonly downgrades: readonly Downgrade[];
  /** sha256 over everything above that decides what runs. */
  readonly digest: string;
}
