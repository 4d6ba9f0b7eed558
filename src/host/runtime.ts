// Fires one event of a host: the envelope, the chain, the receipts. Knows sessions, and nothing of tools and models.

import { setMaxListeners } from "node:events";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChainStep, type Question, runChain } from "../broker/chain.ts";
import { type ChainSession, closeChainSession, createChainSession } from "../broker/chain-session.ts";
import { HookExecutionError } from "../broker/hook-execution-error.ts";
import type { DescribeCall, Said } from "../broker/verdict-fold.ts";
import { chainDeadlineMs } from "../compiler/deadlines.ts";
import { RUN_DIR } from "../compiler/placeholders.ts";
import type { CompiledEntry } from "../compiler/plan.ts";
import { bindCommand } from "../exec/bind-command.ts";
import { buildHookEnv } from "../exec/hook-env.ts";
import type { JsonObject } from "../json.ts";
import { isInstance } from "../message-of.ts";
import { type Envelope, PROFILE_VERSION } from "../profile/envelope-types.ts";
import type { EventName } from "../profile/events.ts";
import type { Verdict } from "../profile/verdict.ts";
import { denyLeak } from "../redaction/withhold-secrets.ts";
import { listDifferences } from "../trust/identity.ts";
import type { FailureMode } from "./receipt.ts";
import type { HostReceipts } from "./receipt-writer.ts";

export interface HostSession {
  readonly id: string;
  readonly chain: ChainSession;
  /** What the next model call is to be told. */
  readonly contexts: string[];
  /** `Stop` blocks in a row. */
  stopBlocks: number;
}

/** One firing of an event. */
export interface Firing {
  readonly session: HostSession;
  readonly fields: JsonObject;
  readonly cwd?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly approve?: ((question: Question) => Promise<boolean>) | undefined;
  readonly describe?: DescribeCall | undefined;
}

/** What came of it, and what was said along the way, also beside a denial. */
export interface Fired {
  readonly verdict: Verdict;
  readonly said: Said;
}

export interface HostRuntimeOptions {
  /** In the order in which they run, all events. */
  readonly entries: readonly CompiledEntry[];
  readonly isEnabled: boolean;
  readonly runId: string;
  readonly ownerId: string;
  readonly scope: string | undefined;
  readonly cwd: string;
  readonly projectRoot: string;
  readonly hookPath: string;
  readonly env: NodeJS.ProcessEnv;
  readonly receipts: HostReceipts;
  readonly redact: (text: string) => string;
  /** What was handed to hooks: no rewrite may carry it. */
  readonly secrets: readonly string[];
  readonly onChanged: (detail: string) => void;
  /** Of persistent guards that have ended, with processes that no call was told of. */
  readonly onLeftovers: (detail: string) => void;
}

export interface HostRuntime {
  /** True when firing the event could do anything. */
  hears(event: EventName): boolean;
  /** Nothing new may begin. */
  readonly isClosed: boolean;
  /** A call that is under way: `close` waits for it. */
  track<Result>(call: () => Promise<Result>): Promise<Result>;
  /** Throws `HookExecutionError`, and `Error` after `close`. */
  fire(event: EventName, firing: Firing): Promise<Fired>;
  session(id: string): HostSession;
  /** Waits for the session's hooks in the background and forgets it. Returns contexts that nobody was told. */
  endSession(id: string): Promise<readonly string[]>;
  /** Ends every session, and removes what was made for hooks. */
  close(): Promise<readonly string[]>;
}

/** Of calls that nobody can abandon. */
export const NEVER: AbortSignal = new AbortController().signal;
setMaxListeners(0, NEVER);

export const NOTHING: Fired = Object.freeze({ verdict: Object.freeze({ decision: "none" }), said: {} });

export function createHostRuntime(options: HostRuntimeOptions): HostRuntime {
  const { isEnabled, runId, ownerId, scope, env, receipts } = options;
  const byEvent = new Map<EventName, CompiledEntry[]>();
  for (const entry of isEnabled ? options.entries : [])
    byEvent.set(entry.event, [...(byEvent.get(entry.event) ?? []), entry]);
  const known = new Map(options.entries.map((entry) => [entry.id, entry]));
  const sessions = new Map<string, HostSession>();
  const hookEnv = buildHookEnv({
    hookPath: options.hookPath,
    base: env,
    projectDir: options.projectRoot,
    runId,
    entryEnv: {},
    marker: runId,
  });
  const needsRunDirectory = options.entries.some(
    (entry) => entry.type === "command" && entry.argv.some((word) => word.includes(`{${RUN_DIR}}`)),
  );
  let runDirectory: Promise<string> | undefined;
  let bound: Promise<void> | undefined;
  const shared = new WeakSet<AbortSignal>([NEVER]);
  let calls = 0;
  let isClosed = false;
  let isEnded = false;
  let underWay = 0;
  let onIdle: () => void = () => {};

  /** Once, before the first chain: what only a run knows is put into the commands. */
  const bindAll = async () => {
    if (needsRunDirectory)
      runDirectory = mkdtemp(join(tmpdir(), "bridle-host-")).then((made) => realpath(made));
    const place = { env, runDirectory: await runDirectory };
    for (const [event, entries] of byEvent)
      byEvent.set(
        event,
        entries.map((entry) => bindCommand(entry, place)),
      );
  };

  const note = (step: ChainStep, call: number) => {
    if (!step.matched) return;
    const entry = known.get(step.entryId);
    receipts.write(step, {
      owner_id: ownerId,
      ...(scope === undefined ? {} : { scope }),
      call,
      hook_type: entry?.type ?? "function",
      failure_mode: entry === undefined ? "closed" : failureModeOf(entry),
    });
    if (step.changed)
      options.onChanged(`${step.entryId}: ${step.notes.map(({ detail }) => detail).join("; ")}`);
  };

  const forget = async (session: HostSession) => {
    for (const { key, leftovers } of await closeChainSession(session.chain))
      options.onLeftovers(`${key}: ${leftovers} process(es), now ended`);
    sessions.delete(session.id);
    return [...session.chain.contexts, ...session.contexts];
  };

  return {
    hears: (event) => byEvent.has(event),
    get isClosed() {
      return isClosed;
    },
    async track(call) {
      underWay += 1;
      try {
        return await call();
      } finally {
        underWay -= 1;
        if (underWay === 0) onIdle();
      }
    },
    async fire(event, { session, fields, cwd = options.cwd, signal = NEVER, approve, describe }) {
      if (isEnded) throw new Error("the host is closed");
      if (!byEvent.has(event)) return NOTHING;
      bound ??= bindAll();
      await bound;
      const entries = byEvent.get(event) as CompiledEntry[];
      // Many calls may share one signal, and each chain listens to it for as long as it runs.
      if (!shared.has(signal)) {
        shared.add(signal);
        setMaxListeners(0, signal);
      }
      calls += 1;
      const call = calls;
      const envelope: Envelope = {
        session_id: session.id,
        cwd,
        hook_event_name: event,
        harness: "lionagi",
        profile: PROFILE_VERSION,
        run_id: runId,
        ...fields,
      };
      // First in their order, and last in their word: no field of an event says whose it is.
      envelope.session_id = session.id;
      envelope.cwd = cwd;
      envelope.hook_event_name = event;
      envelope.harness = "lionagi";
      envelope.profile = PROFILE_VERSION;
      envelope.run_id = runId;
      const chain = runChain({
        tellsDenied: true,
        event,
        envelope,
        entries,
        cwd,
        hookEnv,
        marker: runId,
        signal,
        deadlineMs: chainDeadlineMs(entries),
        checkFiles: listDifferences,
        session: session.chain,
        ...(approve === undefined ? {} : { approve }),
        ...(describe === undefined ? {} : { describe }),
        onStep: (step) => note(step, call),
      });
      const { verdict: decided, said } = await chain.catch((error: unknown) => {
        if (!isInstance(error, HookExecutionError)) throw error;
        throw new HookExecutionError(error.hook, error.event, options.redact(error.detail), error.cause);
      });
      const verdict = denyLeak(decided, envelope, options.secrets);
      // A failing guard is quoted in its reason, an http guard may say what it was sent, and both go to the model.
      const told = said.context === undefined ? said : { ...said, context: options.redact(said.context) };
      if (verdict.decision !== "deny") return { verdict, said: told };
      return { verdict: { ...verdict, reason: options.redact(verdict.reason) }, said: told };
    },
    session(id) {
      let session = sessions.get(id);
      if (session === undefined) {
        session = { id, chain: createChainSession({ cwd: options.cwd }), contexts: [], stopBlocks: 0 };
        sessions.set(id, session);
      }
      return session;
    },
    async endSession(id) {
      const session = sessions.get(id);
      return session === undefined ? [] : forget(session);
    },
    async close() {
      isClosed = true;
      if (underWay > 0)
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      isEnded = true;
      const left = (await Promise.all([...sessions.values()].map(forget))).flat();
      // One that could not be made was told by every firing that needed it, and is no reason to leave receipts unwritten.
      const made = await runDirectory?.catch(() => undefined);
      if (made !== undefined) await rm(made, { recursive: true, force: true });
      return left;
    },
  };
}

export function failureModeOf(entry: CompiledEntry): FailureMode {
  if (entry.type !== "function") return entry.onFailure;
  return entry.throws === true ? "error" : entry.onFailure;
}
