// A Redis of a test's own: on a socket in a folder of its own, without a file of data, ended by its pid.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../watchdog/support.ts";

export interface Redis {
  /** For `createAgentQueue` and `createAgentWorker`. */
  readonly url: string;
  /** One command, in words. */
  command(...words: string[]): Promise<string>;
  /** As if it had crashed. What it held is kept in a file. */
  crash(): Promise<void>;
  /** After `crash`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedis(): Promise<Redis> {
  if (spawnSync("redis-server", ["--version"]).error !== undefined)
    throw new Error(
      "redis-server is not on PATH: .ci/install-debian-packages installs it (apt-get install redis-server)",
    );
  const folder = await mkdtemp(join(tmpdir(), "bridle-redis-"));
  const socket = join(folder, "redis.sock");
  let child: ChildProcess | undefined;
  const start = async () => {
    const options = [
      "--port",
      "0",
      "--unixsocket",
      socket,
      "--save",
      "",
      "--dir",
      folder,
      "--daemonize",
      "no",
    ];
    child = spawn("redis-server", [...options, "--appendonly", "yes", "--appendfsync", "always"], {
      stdio: "ignore",
    });
    await waitUntil(() => existsSync(socket), "the socket of redis-server");
    await waitForPong(socket);
  };
  const end = async (signal: NodeJS.Signals) => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
    await rm(socket, { force: true });
  };
  await start();
  return {
    url: `unix://${socket}`,
    command: (...words) => send(socket, words),
    crash: () => end("SIGKILL"),
    restart: start,
    async stop() {
      await end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function waitForPong(socket: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const answer = await send(socket, ["PING"]).catch(() => "");
    if (answer.startsWith("+PONG")) return;
    if (tries > 200) throw new Error("redis-server does not answer");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The answer as Redis writes it. */
async function send(socket: string, words: readonly string[]): Promise<string> {
  const connection = createConnection(socket);
  try {
    await once(connection, "connect");
    connection.write(
      `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`,
    );
    const [answer] = (await once(connection, "data")) as [Buffer];
    return answer.toString("utf8");
  } finally {
    connection.destroy();
  }
}
