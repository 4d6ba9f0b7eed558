// The chain of one event on one envelope, outside of any run: what a run's hooks would answer, step by step.

import { refusesRun } from "../compiler/refuses-run.ts";
import {
  type ListedHook,
  type Loaded,
  type ResolveOptions,
  resolveHooks,
} from "../compiler/resolve-hooks.ts";
import type { JsonObject } from "../json.ts";
import { describeExit } from "../profile/describe-exit.ts";
import type { Envelope } from "../profile/envelope-types.ts";
import type { EventName, Provider } from "../profile/events.ts";
import type { Verdict } from "../profile/verdict.ts";
import { declaredSecrets } from "../redaction/declared-secrets.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { buildEnvelope } from "./build-envelope.ts";
import { type Answer, readAnswer } from "./judge-answer.ts";
import { tryChain } from "./try-chain.ts";

export interface InvokedStep {
  readonly id: string;
  readonly origin?: string;
  readonly matched: boolean;
  readonly got: Answer;
  readonly reason: string;
  readonly ms: number;
  readonly exit: string;
  /** Nothing waited for it; what it decided, it did not. Shown behind the others. */
  readonly background?: true;
}

export interface Invoked {
  /** As the first hook was given it. */
  readonly envelope: Envelope;
  readonly verdict: Verdict;
  /** In the order of the chain, up to the first denial. */
  readonly steps: readonly InvokedStep[];
  /** Hooks of the event that are not trusted or cannot run. */
  readonly notRun: readonly (ListedHook & { readonly problem: string })[];
  /** One of those refuses a run. */
  readonly isRefused: boolean;
}

export interface InvokeOptions extends ResolveOptions {
  /** Laid over a stock envelope. */
  readonly input?: JsonObject;
  /** @default claude */
  readonly provider?: Provider;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/** Starts only hooks that need no trust or have it. What they say is redacted. */
export async function invokeHooks(
  event: EventName,
  loaded: Loaded,
  { input = {}, provider, env = process.env, signal, ...where }: InvokeOptions = {},
): Promise<Invoked> {
  const { hooks, projectRoot, hookPath } = await resolveHooks(loaded, { ...where, env });
  const able = [];
  const notRun: Invoked["notRun"][number][] = [];
  for (const { compiled, tests: _tests, ...listed } of hooks.filter((hook) => hook.event === event)) {
    if (compiled !== undefined) able.push(compiled);
    else notRun.push({ ...listed, problem: listed.problem ?? "it cannot run" });
  }
  const envelope = buildEnvelope(event, input, { cwd: projectRoot, ...(provider && { provider }) });
  const place = { projectRoot, hookPath, env, ...(signal === undefined ? {} : { signal }) };
  const { verdict, steps } = await tryChain(able, envelope, place);
  const byId = new Map(hooks.map((hook) => [hook.id, hook]));
  const invoked: Invoked = {
    envelope,
    verdict,
    steps: steps.map((step) => {
      const { matcher, where, origin } = byId.get(step.entryId) ?? {};
      return {
        id: step.entryId,
        ...(origin === undefined ? {} : { origin }),
        matched: step.matched,
        ...readAnswer(step, { matcher, ...(where === undefined ? {} : { where }) }),
        ms: Math.round(step.durationMs),
        exit: step.exit === undefined ? "not run" : describeExit(step.exit),
        ...(step.background ? { background: true as const } : {}),
      };
    }),
    notRun,
    isRefused: notRun.some(refusesRun),
  };
  return createRedactor({ env, values: declaredSecrets(loaded.declaration, env) }).json(invoked);
}
