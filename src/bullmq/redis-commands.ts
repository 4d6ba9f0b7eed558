// What must happen in Redis in one step, as Lua. Each is defined on BullMQ's own client, so no driver of Redis is used directly.

import type { Queue } from "./load-bullmq.ts";
import type { AccountKeys, WorkspaceKeys } from "./redis-keys.ts";

export type QueueClient = Awaited<Queue["client"]>;

/** Fences are kept for this long after their last use; one that is in the workspace is never gone below. */
const FENCE_MS = 90 * 24 * 3_600_000;
/** Outcomes of attempts. */
const SETTLED_MS = 7 * 24 * 3_600_000;

/** KEYS lease, holder, fence; ARGV attempt, milliseconds of the lease, milliseconds of the fence. */
const CLAIM = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return {'busy', held, ''} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local fence = redis.call('INCR', KEYS[3])
redis.call('PEXPIRE', KEYS[3], ARGV[3])
return {'claimed', tostring(fence), redis.call('HGET', KEYS[2], 'record') or ''}`;

/** KEYS lease, holder, fence; ARGV attempt, a token that is in the workspace. Answers the next one above it. */
const RAISE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local fence = tonumber(redis.call('GET', KEYS[3]) or '0')
if tonumber(ARGV[2]) > fence then fence = tonumber(ARGV[2]) end
redis.call('SET', KEYS[3], fence + 1, 'PX', ARGV[3])
return fence + 1`;

/** KEYS lease, holder; ARGV attempt, record. */
const NOTE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], 'attempt', ARGV[1], 'record', ARGV[2])
return 1`;

/** KEYS lease; ARGV attempt, milliseconds. */
const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS lease, holder; ARGV attempt, 1 to say that nothing of it is left. */
const LEAVE = `
if ARGV[2] == '1' and redis.call('HGET', KEYS[2], 'attempt') == ARGV[1] then redis.call('DEL', KEYS[2]) end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`;

/** KEYS limit, starts, pause; ARGV now, attempt. Answers the milliseconds to wait; 0: started and counted. */
const START = `
local pause = redis.call('GET', KEYS[3])
if pause and tonumber(pause) > tonumber(ARGV[1]) then return tonumber(pause) - tonumber(ARGV[1]) end
local limit = redis.call('HMGET', KEYS[1], 'starts', 'perMs')
if not limit[1] then return 0 end
local perMs = tonumber(limit[2])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', tonumber(ARGV[1]) - perMs)
if redis.call('ZCARD', KEYS[2]) >= tonumber(limit[1]) then
  local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  return math.max(1, tonumber(first[2]) + perMs - tonumber(ARGV[1]))
end
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], perMs)
return 0`;

/** KEYS pause; ARGV until, now. A pause is never made shorter. */
const PAUSE = `
local pause = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) > pause then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(1, tonumber(ARGV[1]) - tonumber(ARGV[2])))
end
return 1`;

const COMMANDS = {
  bridleClaim: { lua: CLAIM, numberOfKeys: 3 },
  bridleRaise: { lua: RAISE, numberOfKeys: 3 },
  bridleNote: { lua: NOTE, numberOfKeys: 2 },
  bridleRenew: { lua: RENEW, numberOfKeys: 1 },
  bridleLeave: { lua: LEAVE, numberOfKeys: 2 },
  bridleStart: { lua: START, numberOfKeys: 3 },
  bridlePause: { lua: PAUSE, numberOfKeys: 1 },
} as const;

export interface RedisCommands {
  /** `busy`: another attempt holds the lease. `previous`: the record of who was last in it and has not left. */
  claim(
    keys: WorkspaceKeys,
    attempt: string,
    leaseMs: number,
  ): Promise<{ busyWith: string } | { fence: number; previous: string | undefined }>;
  /** A token above `seen`; undefined when the lease is not held any more. */
  raise(keys: WorkspaceKeys, attempt: string, seen: number): Promise<number | undefined>;
  /** False when the lease is not held any more. */
  note(keys: WorkspaceKeys, attempt: string, record: string): Promise<boolean>;
  /** False when the lease is not held any more. */
  renew(keys: Pick<WorkspaceKeys, "lease">, attempt: string, leaseMs: number): Promise<boolean>;
  /** @param isEmpty nothing of the attempt is left: who comes next need not ask. */
  leave(keys: WorkspaceKeys, attempt: string, isEmpty: boolean): Promise<void>;
  /** Milliseconds until the account may start; 0: it may, and this start counts. */
  start(keys: AccountKeys, attempt: string, now: number): Promise<number>;
  pause(keys: AccountKeys, until: number, now: number): Promise<void>;
}

/** Defines the commands on a client, once. */
export function redisCommands(client: QueueClient): RedisCommands {
  for (const [name, command] of Object.entries(COMMANDS)) client.defineCommand(name, command);
  const run = (name: keyof typeof COMMANDS, ...args: (string | number)[]): Promise<unknown> =>
    client.runCommand(name, args);
  return {
    async claim({ lease, holder, fence }, attempt, leaseMs) {
      const answer = (await run("bridleClaim", lease, holder, fence, attempt, leaseMs, FENCE_MS)) as string[];
      const [state, value = "", previous = ""] = answer;
      if (state === "busy") return { busyWith: value };
      return { fence: Number(value), previous: previous === "" ? undefined : previous };
    },
    async raise({ lease, holder, fence }, attempt, seen) {
      const raised = Number(await run("bridleRaise", lease, holder, fence, attempt, seen, FENCE_MS));
      return raised === 0 ? undefined : raised;
    },
    async note({ lease, holder }, attempt, record) {
      return (await run("bridleNote", lease, holder, attempt, record)) === 1;
    },
    async renew({ lease }, attempt, leaseMs) {
      return (await run("bridleRenew", lease, attempt, leaseMs)) === 1;
    },
    async leave({ lease, holder }, attempt, isEmpty) {
      await run("bridleLeave", lease, holder, attempt, isEmpty ? "1" : "0");
    },
    async start({ limit, starts, pause }, attempt, now) {
      return Number(await run("bridleStart", limit, starts, pause, now, attempt));
    },
    async pause({ pause }, until, now) {
      await run("bridlePause", pause, until, now);
    },
  };
}

export async function storeSettled(client: QueueClient, key: string, outcome: string): Promise<void> {
  await client.set(key, outcome, { PX: SETTLED_MS });
}
