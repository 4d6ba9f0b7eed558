// Asks one http hook: the envelope by POST, the body of a 2xx as if a command had printed it and exited 0. Must never throw for what a
// server does, never wait longer than it is told to, never follow a redirect, and never send anything through a proxy. That is why it is
// node:http with an agent of its own: `fetch` goes where a global dispatcher or NODE_USE_ENV_PROXY says.

import { type LookupAddress, lookup as resolveName } from "node:dns";
import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isLoopback } from "../declaration/http-url.ts";
import { QUOTE_LIMIT } from "../profile/decision-keys.ts";
import type { HookExit } from "../profile/verdict.ts";
import { headerSecrets } from "../redaction/declared-secrets.ts";
import { createRedactor, type Redactor } from "../redaction/redactor.ts";

export interface RunHttpOptions {
  /** Checked (`urlProblem`). */
  readonly url: string;
  /** With the values that `env:NAME` names. */
  readonly headers: Readonly<Record<string, string>>;
  /** One line of JSON. */
  readonly body: string;
  /** For the whole of it: name, connection, request, answer to its last byte. */
  readonly timeoutMs: number;
  /** Abandons the call. */
  readonly signal?: AbortSignal;
  /** Kept of the answer; the rest is not read. @default 1 MiB */
  readonly capBytes?: number;
}

export interface HttpResult {
  /** `exit 0` for a 2xx whose body could be read as text. */
  readonly exit: HookExit;
  readonly stdout: string;
  /** The body was longer than the cap. */
  readonly truncated: boolean;
  readonly durationMs: number;
}

const DEFAULT_CAP_BYTES = 1024 * 1024;
/** The others of 3xx send nobody elsewhere: a 304 says that nothing has changed. */
const REDIRECTS = [301, 302, 303, 307, 308];
/** Read of the body of an answer that is a failure in any case: enough to quote. */
const QUOTED_BYTES = 4 * QUOTE_LIMIT;

interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly truncated: boolean;
}

export async function runHttp({
  url,
  headers,
  body,
  timeoutMs,
  signal,
  capBytes = DEFAULT_CAP_BYTES,
}: RunHttpOptions): Promise<HttpResult> {
  const startedAt = performance.now();
  // What a server quotes of its request must not come back in an error, whatever the caller knows to redact.
  const redactor = createRedactor({ values: headerSecrets(headers) });
  const stop = new AbortController();
  let stopped: HookExit | undefined;
  const stopAs = (exit: HookExit) => {
    stopped ??= exit;
    stop.abort();
  };
  const timer = setTimeout(() => stopAs({ kind: "timeout", timeoutMs }), timeoutMs);
  const abandon = () => stopAs({ kind: "failed", message: "the call was abandoned" });
  if (signal?.aborted === true) abandon();
  signal?.addEventListener("abort", abandon, { once: true });
  try {
    const answer = await ask({ url, headers, body, capBytes, stop: stop.signal });
    const { truncated } = answer;
    if (!isSuccess(answer.status)) throw new Error(describeStatus(answer, redactor));
    const stdout = truncated ? answer.body.toString() : decode(answer.body);
    return { exit: { kind: "exit", code: 0 }, stdout, truncated, durationMs: performance.now() - startedAt };
  } catch (error) {
    const exit: HookExit = stopped ?? { kind: "failed", message: redactor.text(messageOf(error)) };
    return { exit, stdout: "", truncated: false, durationMs: performance.now() - startedAt };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abandon);
  }
}

/** Rejects for everything that gives no status and body; always within the life of `stop`, and with nothing left open. */
function ask({
  url,
  headers,
  body,
  capBytes,
  stop,
}: Pick<RunHttpOptions, "url" | "headers" | "body"> & {
  capBytes: number;
  stop: AbortSignal;
}): Promise<Answer> {
  return new Promise<Answer>((resolve, reject) => {
    let request: ClientRequest | undefined;
    const end = (outcome: () => void) => {
      stop.removeEventListener("abort", onStop);
      outcome();
      request?.destroy();
    };
    const fail = (error: Error) => end(() => reject(error));
    const onStop = () => fail(new Error("the call was ended"));
    if (stop.aborted) return onStop();
    stop.addEventListener("abort", onStop, { once: true });
    try {
      request = open(url, headers, body);
    } catch (error) {
      // A header's value from the environment that no header can carry: the message names the header alone.
      fail(new Error(messageOf(error)));
      return;
    }
    request.on("error", fail); // also what comes after the end, which then changes nothing
    request.once("upgrade", () => fail(new Error("the server wanted to change the protocol")));
    const onClose = () => fail(new Error("the connection was closed without an answer"));
    request.once("close", onClose);
    request.once("response", (response) => {
      request?.off("close", onClose); // from here on the answer tells its own end
      readAnswer(response, capBytes).then((answer) => end(() => resolve(answer)), fail);
    });
    request.end(body);
  });
}

function open(url: string, headers: Readonly<Record<string, string>>, body: string): ClientRequest {
  const { protocol, hostname } = new URL(url);
  const options: RequestOptions = {
    method: "POST",
    insecureHTTPParser: false,
    headers: {
      accept: "application/json",
      ...headers,
      // An answer that would have to be unpacked could be of any size.
      "accept-encoding": "identity",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    },
  };
  if (protocol === "https:")
    return httpsRequest(url, {
      ...options,
      agent: new TlsAgent({ keepAlive: false }),
      rejectUnauthorized: true,
    });
  const lookup = isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? { lookup: lookupLoopback } : {};
  return httpRequest(url, { ...options, agent: new Agent({ keepAlive: false }), ...lookup });
}

/** Plain http leaves the machine for nobody, whatever the system says that localhost is. */
const lookupLoopback: LookupFunction = (hostname, options, callback) => {
  resolveName(hostname, { ...options, all: true }, (error, addresses) => {
    const found = addresses?.filter(({ address }) =>
      isLoopback(isIP(address) === 6 ? `[${address}]` : address),
    );
    const [first] = found ?? [];
    if (error !== null || first === undefined)
      callback(error ?? new Error(`${hostname} is no loopback address here`), "");
    else if (options.all === true) callback(null, found as LookupAddress[]);
    else callback(null, first.address, first.family);
  });
};

/** Rejects for an answer that was cut off or that cannot be read as it is. */
function readAnswer(response: IncomingMessage, capBytes: number): Promise<Answer> {
  const { statusCode: status = 0 } = response;
  return new Promise((resolve, reject) => {
    const cap = isSuccess(status) ? capBytes : QUOTED_BYTES;
    const chunks: Buffer[] = [];
    let size = 0;
    const answer = (truncated: boolean) =>
      resolve({ status, body: Buffer.concat(chunks).subarray(0, cap), truncated });
    const unreadable = findUnreadable(response);
    if (unreadable !== undefined) reject(new Error(`HTTP ${status} with ${unreadable}`));
    response.on("error", reject);
    response.once("close", () => reject(new Error("the answer was cut off")));
    response.once("end", () => {
      if (response.complete) answer(false);
    });
    response.on("data", (chunk: Buffer) => {
      if (size > cap) return;
      size += chunk.length;
      chunks.push(chunk);
      if (size > cap) answer(true);
    });
  });
}

function findUnreadable({ headers }: IncomingMessage): string | undefined {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding !== "" && encoding !== "identity")
    return `content-encoding ${JSON.stringify(cut(encoding))}, which was not asked for`;
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers["content-type"] ?? "")?.[1];
  return charset === undefined || /^(?:utf-?8|us-ascii)$/i.test(charset)
    ? undefined
    : `charset ${JSON.stringify(cut(charset))}, where UTF-8 is read`;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error("the answer is not UTF-8", { cause });
  }
}

function describeStatus({ status, body }: Answer, redactor: Redactor): string {
  const redirect = REDIRECTS.includes(status) ? ", a redirect, which is not followed" : "";
  const text = redactor.text(body.toString().trim());
  return `HTTP ${status}${redirect}${text === "" ? "" : `: ${JSON.stringify(cut(text))}`}`;
}

function cut(text: string): string {
  return text.length > QUOTE_LIMIT ? `${text.slice(0, QUOTE_LIMIT)}…` : text;
}

/** Of a host with several addresses each is told; the error around them says nothing. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(messageOf))].join("; ");
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
