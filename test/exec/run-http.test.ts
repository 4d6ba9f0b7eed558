// One http hook against real servers on loopback that misbehave, each in one way.

import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { type RunHttpOptions, runHttp } from "../../src/exec/run-http.ts";
import { interpret } from "../../src/profile/interpret.ts";

const DENY = JSON.stringify({
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "no",
  },
});

const open: { server: Server; sockets: Set<Socket> }[] = [];
afterEach(async () => {
  for (const { server, sockets } of open.splice(0)) {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }
});

async function listen(server: Server, host = "127.0.0.1"): Promise<number> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // a client that hangs up is what is tested
    socket.once("close", () => sockets.delete(socket));
  };
  server.on("connection", keep);
  open.push({ server, sockets });
  server.listen(0, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Speaks HTTP. */
async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(listener))}/hook`;
}

/** Writes what it is told once the whole request has come. */
async function serveBytes(answer: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    let seen = "";
    socket.on("data", (chunk) => {
      seen += chunk;
      if (seen.endsWith("}\n")) answer(socket);
    });
  });
  return `http://127.0.0.1:${await listen(server)}/hook`;
}

/** From a process with variables of its own: exit and stdout. */
async function askFromAnother(url: string, env: Record<string, string>): Promise<unknown> {
  const program = `
    import { runHttp } from ${JSON.stringify(join(inject("dist"), "exec/run-http.js"))};
    const { exit, stdout } = await runHttp({ url: ${JSON.stringify(url)}, headers: {}, body: "{}\\n", timeoutMs: 20000 });
    console.log(JSON.stringify([exit, stdout]));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--no-warnings", "--input-type=module", "-e", program],
    { env: { PATH: process.env.PATH, ...env } },
  );
  return JSON.parse(stdout);
}

function createGate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const ask = (url: string, options: Partial<RunHttpOptions> = {}) =>
  runHttp({ url, headers: {}, body: '{"a":1}\n', timeoutMs: 20_000, ...options });

const verdictOf = async (url: string, options: Partial<RunHttpOptions> = {}) => {
  const { exit, stdout, truncated } = await ask(url, options);
  return interpret(exit, stdout, "", "PreToolUse", {
    onFailure: "closed",
    grants: false,
    stdoutTruncated: truncated,
  });
};

const failureOf = async (url: string, options: Partial<RunHttpOptions> = {}) => {
  const { exit, stdout } = await ask(url, options);
  expect(stdout).toBe("");
  if (exit.kind !== "failed") throw new Error(`expected a failure, got ${JSON.stringify(exit)}`);
  return exit.message;
};

describe("a request", () => {
  test("is a POST of one JSON line, asks for JSON that is not packed, and holds what is declared and nothing else", async () => {
    const seen: { request?: IncomingMessage; body?: string } = {};
    const url = await serve(async (request, response) => {
      seen.request = request;
      seen.body = await text(request);
      response.end();
    });
    const { exit } = await ask(`${url}?a=1`, {
      body: '{"tool":"é"}\n',
      headers: { authorization: "Bearer x", "X-Team": "a b" },
    });
    expect(exit).toEqual({ kind: "exit", code: 0 });
    expect(seen.body).toBe('{"tool":"é"}\n');
    expect(seen.request).toMatchObject({ method: "POST", url: "/hook?a=1" });
    expect(seen.request?.headers).toEqual({
      accept: "application/json",
      "accept-encoding": "identity",
      authorization: "Bearer x",
      connection: "close",
      "content-length": "14",
      "content-type": "application/json",
      host: new URL(url).host,
      "x-team": "a b",
    });
  });

  test("each has its own connection, and sends back no cookie", async () => {
    const ports: (number | undefined)[] = [];
    const cookies: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      ports.push(request.socket.remotePort);
      cookies.push(request.headers.cookie);
      response.setHeader("set-cookie", "session=1").end();
    });
    await ask(url);
    await ask(url);
    expect(new Set(ports).size).toBe(2);
    expect(cookies).toEqual([undefined, undefined]);
  });

  test("goes through no proxy, whatever the variables say", async () => {
    const asked: string[] = [];
    const proxy = await serve((request, response) => {
      asked.push(request.url ?? "");
      response.end(DENY);
    });
    const url = await serve((_request, response) => response.end("{}"));
    const proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    const seen = await askFromAnother(url, {
      ...Object.fromEntries(proxies.map((name) => [name, proxy])),
      NODE_USE_ENV_PROXY: "1",
    });
    expect(seen).toEqual([{ kind: "exit", code: 0 }, "{}"]);
    expect(asked).toEqual([]);
  });

  test("a header that the environment gave and that no header can carry is a failure, which does not quote it", async () => {
    let asked = 0;
    const url = await serve((_request, response) => {
      asked += 1;
      response.end();
    });
    const message = await failureOf(url, { headers: { "x-key": "pl4nted\r\nx-evil: 1" } });
    expect(message).toContain("x-key");
    expect(message).not.toContain("pl4nted");
    expect(asked).toBe(0);
  });

  test("of a body larger than the server reads is answered all the same", async () => {
    const url = await serve((request, response) => {
      request.resume();
      response.end(DENY);
    });
    expect(
      (await verdictOf(url, { body: `${JSON.stringify("x".repeat(8_000_000))}\n` })).verdict.decision,
    ).toBe("deny");
  });

  test("reaches localhost by whichever of its addresses is served", async () => {
    const server = createServer((_request, response) => response.end("{}"));
    const port = await listen(server);
    expect((await ask(`http://localhost:${port}/`)).exit).toEqual({ kind: "exit", code: 0 });
  });
});

describe("an answer", () => {
  test.each([
    ["a denial", DENY, "deny"],
    ["a denial behind a BOM", `\uFEFF${DENY}`, "deny"],
    ["a denial in white space", `\r\n ${DENY}\n\n`, "deny"],
    ["an empty object", "{}", "none"],
    ["nothing", "", "none"],
    ["white space", " \n", "none"],
    ["text", "fine", "none"],
    ["a key twice", '{"decision":"block","decision":"approve"}', "deny"],
    ["broken JSON", '{"hookSpecificOutput":', "deny"],
    ["two objects", "{}{}", "deny"],
  ])("of %s is read as a command's output would be", async (_what, body, decision) => {
    const url = await serve((_request, response) => response.end(body));
    expect((await verdictOf(url)).verdict.decision).toBe(decision);
  });

  test.each([
    "text/plain",
    "text/html; charset=UTF-8",
    "application/json;charset=utf8",
    'x/y; charset="utf-8"',
    "nonsense",
  ])("with content-type %s is read by what stands in it", async (type) => {
    const url = await serve((_request, response) => response.setHeader("content-type", type).end(DENY));
    expect((await verdictOf(url)).verdict.decision).toBe("deny");
  });

  test.each([200, 201, 202, 299])("with status %i counts", async (status) => {
    const url = await serve((_request, response) => response.writeHead(status).end(DENY));
    expect((await verdictOf(url)).verdict.decision).toBe("deny");
  });

  test("with status 204 is no decision", async () => {
    const url = await serve((_request, response) => response.writeHead(204).end());
    expect(await verdictOf(url)).toEqual({ verdict: { decision: "none" }, notes: [], failed: false });
  });

  test("behind an interim one is the answer", async () => {
    const url = await serve((_request, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: "</x>; rel=preload" });
      response.end(DENY);
    });
    expect((await verdictOf(url)).verdict.decision).toBe("deny");
  });

  test.each(["HTTP/1.0", "HTTP/1.1"])("of %s that ends with the connection is whole", async (version) => {
    const url = await serveBytes((socket) => socket.end(`${version} 200 OK\r\n\r\n${DENY}`));
    expect((await verdictOf(url)).verdict.decision).toBe("deny");
  });

  test("in small pieces is put together, in the middle of a character too", async () => {
    const body = Buffer.from(JSON.stringify({ hookSpecificOutput: { additionalContext: "é→😀" } }));
    const url = await serveBytes((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
      const next = (at: number) => {
        if (at < body.length) socket.write(body.subarray(at, at + 1), () => next(at + 1));
      };
      next(0);
    });
    expect((await verdictOf(url)).verdict).toEqual({ decision: "none", context: "é→😀" });
  });
});

describe("a failure, which denies on a gate, is", () => {
  test.each([400, 401, 404, 429, 500, 503])("status %i, with what the server said", async (status) => {
    const url = await serve((_request, response) => response.writeHead(status).end(`{"oops":"${status}"}`));
    expect(await failureOf(url)).toBe(`HTTP ${status}: "{\\"oops\\":\\"${status}\\"}"`);
    const { verdict, failed } = await verdictOf(url);
    expect([verdict.decision, failed]).toEqual(["deny", true]);
  });

  test("a failing status with a long body, of which 300 characters are quoted and no more is waited for", async () => {
    const url = await serveBytes((socket) => {
      socket.write(`HTTP/1.1 500 Oops\r\ncontent-length: 999999999\r\n\r\n${"x".repeat(100_000)}`);
    });
    expect(await failureOf(url)).toBe(`HTTP 500: ${JSON.stringify(`${"x".repeat(300)}…`)}`);
  });

  test("a failing status that quotes a header, and of the header no part is told, not where it is cut either", async () => {
    const url = await serve((request, response) => {
      response.writeHead(500).end(`${"x".repeat(295)}${request.headers["x-key"]}`);
    });
    const message = await failureOf(url, { headers: { "x-key": "pl4nted-value" } });
    expect(message).toContain("xxx[red");
    expect(message).not.toContain("pl4");
  });

  test("a header that the server names as a charset is not told either", async () => {
    const url = await serve((request, response) => {
      response.setHeader("content-type", `text/plain; charset=${request.headers["x-key"]}`).end("{}");
    });
    const message = await failureOf(url, { headers: { "x-key": "pl4nted-value" } });
    expect(message).toContain("charset");
    expect(message).not.toContain("pl4nted");
  });

  test.each([
    [301, ", a redirect, which is not followed"],
    [302, ", a redirect, which is not followed"],
    [303, ", a redirect, which is not followed"],
    [307, ", a redirect, which is not followed"],
    [308, ", a redirect, which is not followed"],
    [300, ""],
    [304, ""],
    [305, ""],
  ])("status %i: nobody is asked in the server's place", async (status, redirect) => {
    let asked = 0;
    const other = await serve((_request, response) => {
      asked += 1;
      response.end("{}");
    });
    const url = await serve((_request, response) => response.writeHead(status, { location: other }).end());
    expect(await failureOf(url)).toBe(`HTTP ${status}${redirect}`);
    expect(asked).toBe(0);
  });

  test("a server that is not there", async () => {
    const server = createTcpServer();
    const port = await listen(server);
    const closed = once(server, "close");
    server.close();
    await closed;
    open.pop();
    expect(await failureOf(`http://127.0.0.1:${port}/`)).toContain("ECONNREFUSED");
    expect(await failureOf(`http://localhost:${port}/`)).toContain("ECONNREFUSED");
  });

  test.each<[string, (socket: Socket) => void, string]>([
    ["a reset", (socket) => socket.resetAndDestroy(), "ECONNRESET"],
    ["a hang-up before the status", (socket) => socket.end(), "hang up"],
    ["a hang-up in the headers", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-le"), ""],
    [
      "a hang-up in the body",
      (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{}"),
      "aborted",
    ],
    [
      "a reset in the body",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{}", () => socket.resetAndDestroy());
      },
      "",
    ],
    [
      "a hang-up in a chunk",
      (socket) => {
        socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n");
      },
      "aborted",
    ],
    ["another protocol", (socket) => socket.end("220 mail.example ESMTP\r\n"), "Parse Error"],
    [
      "a change of protocol",
      (socket) => {
        socket.write("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
      },
      "change the protocol",
    ],
    [
      "a length and chunks",
      (socket) => {
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}");
      },
      "Parse Error",
    ],
    [
      "two lengths",
      (socket) => {
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}");
      },
      "Parse Error",
    ],
    [
      "a control character in a header",
      (socket) => void socket.end("HTTP/1.1 200 OK\r\nx: a\u0001b\r\ncontent-length: 2\r\n\r\n{}"),
      "Parse Error",
    ],
    [
      "headers without end",
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(50_000)}`);
      },
      "Header overflow",
    ],
  ])("%s", async (_what, answer, said) => {
    expect(await failureOf(await serveBytes(answer))).toContain(said);
  });

  test.each(["gzip", "br", "deflate", "GZIP", "identity, gzip", "x-unknown"])(
    "an answer that is packed as %s",
    async (encoding) => {
      const url = await serve((_request, response) => {
        response.setHeader("content-encoding", encoding).end(gzipSync(DENY));
      });
      expect(await failureOf(url)).toContain("content-encoding");
    },
  );

  test("identity is no packing", async () => {
    const url = await serve((_request, response) =>
      response.setHeader("content-encoding", "identity").end(DENY),
    );
    expect((await verdictOf(url)).verdict.decision).toBe("deny");
  });

  test.each(["utf-16", "iso-8859-1", "nope"])("charset %s", async (charset) => {
    const url = await serve((_request, response) => {
      response.setHeader("content-type", `application/json; charset=${charset}`).end("{}");
    });
    expect(await failureOf(url)).toContain("charset");
  });

  test("bytes that are not UTF-8", async () => {
    const url = await serve((_request, response) => response.end(Buffer.from([0x7b, 0xff, 0x7d])));
    expect(await failureOf(url)).toBe("the answer is not UTF-8");
  });

  test("a body of 1 GB, of which no more than the cap is kept and read", async () => {
    let written = 0;
    const url = await serve((_request, response) => {
      response.setHeader("content-length", 1024 ** 3);
      const piece = Buffer.alloc(256 * 1024, "x");
      const next = () => {
        if (response.destroyed) return;
        written += piece.length;
        response.write(piece, next);
      };
      next();
    });
    const { exit, stdout, truncated } = await ask(url);
    expect(exit).toEqual({ kind: "exit", code: 0 });
    expect([truncated, stdout.length]).toEqual([true, 1024 * 1024]);
    expect(written).toBeLessThan(64 * 1024 * 1024);
    expect((await verdictOf(url)).verdict.decision).toBe("deny");
  });

  test("exactly the cap is not too much, one byte more is", async () => {
    const url = await serve((request, response) =>
      response.end("x".repeat(request.url === "/hook" ? 100 : 101)),
    );
    expect(await ask(url, { capBytes: 100 })).toMatchObject({ truncated: false, stdout: "x".repeat(100) });
    expect(await ask(`${url}s`, { capBytes: 100 })).toMatchObject({
      truncated: true,
      stdout: "x".repeat(100),
    });
  });
});

describe("no answer in time denies, although the entry says open:", () => {
  test.each<[string, (socket: Socket) => void]>([
    ["nothing at all", () => {}],
    ["a status and no end of headers", (socket) => void socket.write("HTTP/1.1 200 OK\r\nx: ")],
    ["headers and no body", (socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")],
    ["interim answers alone", (socket) => drip(socket, () => "HTTP/1.1 102 Processing\r\n\r\n")],
    [
      "a body that drips",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
        drip(socket, () => " ");
      },
    ],
    [
      "headers that drip",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\nx: ");
        drip(socket, () => "y");
      },
    ],
    [
      "a failing status whose body drips",
      (socket) => {
        socket.write("HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\n");
        drip(socket, () => "x");
      },
    ],
  ])("%s", async (_what, answer) => {
    const url = await serveBytes(answer);
    const { exit, stdout, truncated } = await ask(url, { timeoutMs: 150 });
    expect(exit).toEqual({ kind: "timeout", timeoutMs: 150 });
    const policy = { onFailure: "open", grants: false, stdoutTruncated: truncated } as const;
    expect(interpret(exit, stdout, "", "PreToolUse", policy).verdict.decision).toBe("deny");
  });

  test("a server that does not take the request", async () => {
    const server = createTcpServer((socket) => socket.pause());
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const body = `${JSON.stringify("x".repeat(32_000_000))}\n`;
    expect((await ask(url, { timeoutMs: 300, body })).exit).toEqual({ kind: "timeout", timeoutMs: 300 });
  });

  test("and the connection is closed, so that nothing is left", async () => {
    const closed = createGate();
    const url = await serveBytes((socket) => socket.once("end", () => closed.open()));
    await ask(url, { timeoutMs: 1000 });
    await closed.opened;
  });
});

/** Until the client hangs up. */
function drip(socket: Socket, piece: () => string): void {
  const timer = setInterval(() => void socket.write(piece()), 10);
  socket.once("close", () => clearInterval(timer));
}

describe("an abandoned call", () => {
  test("is a failure and closes its connection", async () => {
    const abort = new AbortController();
    const closed = createGate();
    const url = await serveBytes((socket) => {
      socket.once("end", () => closed.open());
      abort.abort();
    });
    expect(await failureOf(url, { signal: abort.signal })).toBe("the call was abandoned");
    await closed.opened;
  });

  test("before it began contacts nobody", async () => {
    let asked = 0;
    const url = `http://127.0.0.1:${await listen(createTcpServer(() => (asked += 1)))}/`;
    expect(await failureOf(url, { signal: AbortSignal.abort() })).toBe("the call was abandoned");
    expect(asked).toBe(0);
  });
});

describe("over TLS", () => {
  let folder: string;
  let files: { key: string; cert: string };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "bridle-http-"));
    files = { key: join(folder, "key.pem"), cert: join(folder, "cert.pem") };
    const made = ["-keyout", files.key, "-out", files.cert, "-subj", "/CN=localhost"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const names = ["-addext", "subjectAltName=DNS:localhost"];
    execFileSync("openssl", ["req", "-x509", ...curve, ...made, ...names, "-days", "2"], { stdio: "ignore" });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const serveTls = async (asked: string[] = []) => {
    const server = createTlsServer(
      { key: await readFile(files.key), cert: await readFile(files.cert) },
      (request, response) => {
        asked.push(request.url ?? "");
        response.end(DENY);
      },
    );
    return listen(server);
  };

  test("a certificate that nobody vouches for is a failure, and NODE_TLS_REJECT_UNAUTHORIZED changes nothing", async () => {
    const asked: string[] = [];
    const port = await serveTls(asked);
    expect(await failureOf(`https://localhost:${port}/`)).toContain("self-signed certificate");
    const seen = await askFromAnother(`https://localhost:${port}/`, {
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    });
    expect(seen).toEqual([{ kind: "failed", message: "self-signed certificate" }, ""]);
    expect(asked).toEqual([]);
  });

  test("one that the system vouches for is asked, under its own name alone", async () => {
    const port = await serveTls();
    const env = { NODE_EXTRA_CA_CERTS: files.cert };
    const seen = await askFromAnother(`https://localhost:${port}/`, env);
    expect(seen).toEqual([{ kind: "exit", code: 0 }, DENY]);
    const other = await askFromAnother(`https://127.0.0.1:${port}/`, env);
    expect(other).toEqual([
      { kind: "failed", message: expect.stringContaining("does not match certificate") },
      "",
    ]);
  });

  test("a server that speaks none is a failure", async () => {
    const url = await serve((_request, response) => response.end("{}"));
    expect(await failureOf(url.replace("http:", "https:"))).toMatch(/SSL|wrong version|EPROTO/);
  });
});
