// The end of a worker whose Redis is away: what waits for Redis is failed, and its connections are closed. Must never wait for Redis itself.

import { setTimeout as delay } from "node:timers/promises";
import type { Worker } from "./load-bullmq.ts";
import type { QueueClient } from "./redis-commands.ts";

const LOOK_MS = 50;

/** Whether it ended within that time, well or not. @param isGivenUp asked meanwhile: ends the wait. */
export async function endsWithin(
  ending: Promise<unknown>,
  withinMs: number,
  isGivenUp: () => boolean = () => false,
): Promise<boolean> {
  let hasEnded = false;
  const note = () => {
    hasEnded = true;
  };
  ending.then(note, note);
  const until = performance.now() + withinMs;
  do {
    // A promise that has ended is seen before the first look.
    await Promise.race([ending.then(note, note), delay(LOOK_MS)]);
  } while (!hasEnded && !isGivenUp() && performance.now() < until);
  return hasEnded;
}

/** What an ioredis client reads anew at each command and each loss of its connection. */
interface ClientOptions {
  maxRetriesPerRequest: number | null;
  enableOfflineQueue: boolean;
}

type Client = QueueClient & { readonly options: ClientOptions; disconnect(reconnect?: boolean): void };

/** Of the worker and of its queue. BullMQ names no other way to its blocking connection. */
export async function listClients(worker: Worker, client: QueueClient): Promise<QueueClient[]> {
  const { blockingConnection } = worker as unknown as {
    blockingConnection: { client: Promise<QueueClient> };
  };
  return [client, await worker.client, await blockingConnection.client];
}

/**
 * Fails each command that waits, and each later one that finds no connection, with an error that BullMQ does not take for a lost connection:
 * that one it tries again without end and without a pause once its worker closes.
 */
export function failCommands(clients: readonly QueueClient[]): void {
  for (const { options, disconnect } of clients.map(asClient)) {
    options.maxRetriesPerRequest = 0;
    options.enableOfflineQueue = false;
    disconnect(true);
  }
}

/** For good. One that is closed already stays so. */
export function closeClients(clients: readonly QueueClient[]): void {
  for (const { disconnect } of clients.map(asClient)) disconnect();
}

function asClient(client: QueueClient): Pick<Client, "options" | "disconnect"> {
  const { options } = client as Client;
  return { options, disconnect: (reconnect) => (client as Client).disconnect(reconnect) };
}
