// Who began a turn. A prompt of a user is announced once (`UserPromptSubmit`), at the first model call that it causes; every further call
// carries the same origin, and says nothing. There is no ambient state: an origin is an argument, or there is none.

import { AgentHooksRefused } from "../errors.ts";

/** A turn that no user began: repairs, extensions, final answers, jobs of the program itself. */
export interface NoOrigin {
  readonly kind: "none";
}

export const noOrigin: NoOrigin = Object.freeze({ kind: "none" });

/** What became of the prompt of a turn. */
export type PromptVerdict =
  | { readonly decision: "none"; readonly context?: string }
  | { readonly decision: "deny"; readonly reason: string; readonly context?: string };

interface Turn {
  /** Identity of the host that minted it. */
  readonly owner: object;
  readonly prompt: string;
  readonly permissionMode: string;
  /** Set by the first model call; later ones wait for the same verdict. */
  verdict: Promise<PromptVerdict> | undefined;
}

const mintKey = Symbol("mint");
const turns = new WeakMap<TurnOrigin, Turn>();

/** Minted by `host.ingress` alone. Cannot be built or copied. */
export class TurnOrigin {
  readonly kind = "user";

  /** @internal */
  constructor(key: symbol, turn: Turn) {
    if (key !== mintKey) throw forged("a TurnOrigin was constructed outside host.ingress");
    turns.set(this, turn);
    Object.freeze(this);
  }
}

export type Origin = TurnOrigin | NoOrigin;

export interface Ingress {
  /** What the user said. */
  readonly prompt: string;
  /** As the way in was handed it. `undefined`: nobody has settled who began this turn, and a token is minted. */
  readonly origin?: Origin | undefined;
  /** @default "default" */
  readonly permissionMode?: string;
}

/** @internal */
export function mintOrigin(owner: object, { prompt, origin, permissionMode = "default" }: Ingress): Origin {
  if (origin !== undefined) return checkOrigin(owner, origin);
  if (typeof prompt !== "string")
    throw new TypeError(`ingress: prompt must be a string, got ${prompt === null ? "null" : typeof prompt}`);
  return new TurnOrigin(mintKey, { owner, prompt, permissionMode, verdict: undefined });
}

/**
 * Announces the prompt of a turn that a user began, unless that was done before: then the verdict of that time holds, without its context.
 * A failure of the announcement is kept too: no later call gets past it.
 * @internal
 */
export async function consumeOrigin(
  owner: object,
  origin: Origin,
  announce: (fields: { prompt: string; permission_mode: string }) => Promise<PromptVerdict>,
): Promise<PromptVerdict> {
  const settled = checkOrigin(owner, origin);
  const turn = settled instanceof TurnOrigin ? turns.get(settled) : undefined;
  if (turn === undefined) return { decision: "none" };
  if (turn.verdict !== undefined) {
    const verdict = await turn.verdict;
    return verdict.decision === "deny" ? { decision: "deny", reason: verdict.reason } : { decision: "none" };
  }
  turn.verdict = announce({ prompt: turn.prompt, permission_mode: turn.permissionMode });
  return turn.verdict;
}

function checkOrigin(owner: object, origin: unknown): Origin {
  if (origin === noOrigin) return noOrigin;
  const turn =
    origin instanceof TurnOrigin && Object.getPrototypeOf(origin) === TurnOrigin.prototype
      ? turns.get(origin)
      : undefined;
  if (turn === undefined)
    throw forged(
      origin === undefined
        ? "a model call says nothing about who began its turn"
        : "origin was not minted by host.ingress",
    );
  if (turn.owner !== owner)
    throw forged("origin was minted by another host, whose hooks were asked, not these");
  return origin as TurnOrigin;
}

function forged(message: string): AgentHooksRefused {
  const hint = "pass what host.ingress returned, or noOrigin for a turn that no user began";
  return new AgentHooksRefused([{ code: "token_forged", path: "origin", message, hint }]);
}
