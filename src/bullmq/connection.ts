// Where Redis is, as plain data: the thread that renews leases makes connections of its own from it.

import { AgentHooksRefused } from "../errors.ts";
import type { RedisOptions } from "./load-bullmq.ts";

/**
 * `redis://[user:password@]host[:port][/db]`, `rediss://…` (TLS), `unix:///path/of/socket`; or options of ioredis that are plain data. No
 * client that is connected already, and no cluster.
 */
export type QueueConnection = string | RedisOptions;

/** @throws AgentHooksRefused `option_invalid` */
export function resolveConnection(connection: QueueConnection): RedisOptions {
  if (typeof connection === "string") return parseUrl(connection);
  if (typeof connection !== "object" || connection === null) throw refuse("expected a URL or options");
  try {
    return structuredClone(connection);
  } catch {
    throw refuse("options of a connection must be plain data");
  }
}

function parseUrl(text: string): RedisOptions {
  if (!URL.canParse(text)) throw refuse("is not a URL");
  const url = new URL(text);
  const { protocol, hostname, port } = url;
  const [pathname, username, password] = (["pathname", "username", "password"] as const).map((name) =>
    decode(name, url[name]),
  ) as [string, string, string];
  const login = {
    ...(username === "" ? {} : { username }),
    ...(password === "" ? {} : { password }),
  };
  if (protocol === "unix:") return { path: pathname, ...login };
  if (protocol !== "redis:" && protocol !== "rediss:") throw refuse(`unknown protocol ${protocol}`);
  const database = pathname.replace(/^\//, "");
  if (!/^\d*$/.test(database)) throw refuse("the path must be the number of a database");
  return {
    host: hostname.replace(/^\[|\]$/g, "") || "127.0.0.1",
    port: port === "" ? 6379 : Number(port),
    ...(database === "" ? {} : { db: Number(database) }),
    ...(protocol === "rediss:" ? { tls: {} } : {}),
    ...login,
  };
}

function decode(name: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse(`its ${name} has a % that begins no escape: write it as %25`);
  }
}

/** The value is not shown: it may hold a password. */
function refuse(message: string): AgentHooksRefused {
  const hint = "redis://host:6379, rediss://host:6379 or unix:///path/redis.sock";
  return new AgentHooksRefused([{ code: "option_invalid", path: "connection", message, hint }]);
}
