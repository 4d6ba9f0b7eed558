import { describe, expect, test } from "vitest";
import { showUrl, urlProblem } from "../../src/declaration/http-url.ts";
import { validateDeclaration } from "../../src/declaration/validate.ts";

const AT = "declaration: PreToolUse[0].hooks[0]";
const http = { type: "http", url: "https://guard.example/check" };
const issuesOf = (entry: unknown, event = "PreToolUse") =>
  validateDeclaration({ [event]: [{ hooks: [entry] }] }).issues;
const only = (entry: unknown) => {
  const issues = issuesOf(entry);
  expect(issues).toHaveLength(1);
  return issues[0];
};

test("an http entry with every field is valid and returned as it was", () => {
  const hooks = [
    {
      ...http,
      headers: { authorization: "env:GUARD_TOKEN", "x-team": "a b" },
      timeout: 5,
      on_failure: "open",
      grants: true,
      once: true,
      async: false,
      selftest: [{ input: {}, expect: "deny" }],
    },
  ];
  const { declaration, issues } = validateDeclaration({ PreToolUse: [{ hooks }] });
  expect(issues).toEqual([]);
  expect(declaration.PreToolUse).toEqual([{ hooks }]);
});

describe("an address", () => {
  test.each([
    "https://guard.example",
    "https://guard.example:8443/a/b?x=1",
    "https://10.0.0.1/",
    "HTTPS://guard.example/",
    "http://localhost:8080/hook",
    "http://LOCALHOST/hook",
    "http://127.0.0.1/",
    "http://127.255.0.9:1/",
    "http://127.1/",
    "http://[::1]:9/",
  ])("%s can be used", (url) => {
    expect(urlProblem(url)).toBeUndefined();
    expect(issuesOf({ ...http, url })).toEqual([]);
  });

  test.each([
    ["", "absolute URL"],
    ["/check", "absolute URL"],
    ["guard.example/check", "absolute URL"],
    ["https:guard.example", "absolute URL"],
    ["https:///guard.example", "absolute URL"],
    ["https://", "absolute URL"],
    [" https://guard.example", "absolute URL"],
    ["https://guard.example\n", "absolute URL"],
    ["https:\\\\guard.example", "absolute URL"],
    ["https://guard.example\\@evil.example", "absolute URL"],
    ["https://guard.example:99999/", "absolute URL"],
    ["ftp://guard.example/", "not with ftp:"],
    ["file:///etc/passwd", "absolute URL"],
    ["ws://localhost/", "not with ws:"],
    ["unix://localhost/", "not with unix:"],
    ["http://guard.example/", "plain http"],
    ["http://localhost.example/", "plain http"],
    ["http://localhost./", "plain http"],
    ["http://sub.localhost/", "plain http"],
    ["http://127.0.0.1.example/", "plain http"],
    ["http://0.0.0.0/", "plain http"],
    ["http://[::]/", "plain http"],
    ["http://[::ffff:127.0.0.1]/", "plain http"],
    ["http://10.0.0.1/", "plain http"],
    ["https://user@guard.example/", "no user"],
    ["https://user:pl4nted@guard.example/", "no user"],
    ["https://:pl4nted@guard.example/", "no user"],
    ["http://localhost@guard.example/", "no user"],
    ["https://guard.example/#part", "fragment"],
    ["https://guard.example/#", "fragment"],
  ])("%j is refused", (url, said) => {
    const issue = only({ ...http, url });
    expect(issue).toMatchObject({ code: "declaration_invalid", path: `${AT}.url` });
    expect(issue?.message).toContain(said);
    expect(issue?.message).not.toContain("pl4nted");
  });

  test.each([
    ["https://guard.example/a?token=pl4nted&b=pl4nted", "https://guard.example/a?token=…&b=…"],
    ["https://guard.example/?pl4nted", "https://guard.example/?…"],
    ["https://guard.example/?a=b=pl4nted", "https://guard.example/?a=…"],
    ["https://user:pl4nted@guard.example/a#pl4nted", "https://guard.example/a"],
    ["http://[::1]:8080", "http://[::1]:8080/"],
    ["pl4nted", "an address that cannot be read"],
  ])("%s is shown as %s", (url, shown) => {
    expect(showUrl(url)).toBe(shown);
  });
});

describe("headers", () => {
  test.each([
    [{ "x y": "1" }, ".headers.x y", "name of an HTTP header"],
    [{ "": "1" }, ".headers.", "name of an HTTP header"],
    [{ "x:": "1" }, ".headers.x:", "name of an HTTP header"],
    [{ é: "1" }, ".headers.é", "name of an HTTP header"],
    [{ Host: "pl4nted" }, ".headers.Host", "none of host"],
    [{ "content-length": "1" }, ".headers.content-length", "none of"],
    [{ "Content-Type": "text/plain" }, ".headers.Content-Type", "none of"],
    [{ "transfer-encoding": "chunked" }, ".headers.transfer-encoding", "none of"],
    [{ connection: "keep-alive" }, ".headers.connection", "none of"],
    [{ "Accept-Encoding": "gzip" }, ".headers.Accept-Encoding", "none of"],
    [{ a: "pl4nted\r\nx: 1" }, ".headers.a", "CR"],
    [{ a: "pl4nted\n" }, ".headers.a", "LF"],
    [{ a: "pl4nted\0" }, ".headers.a", "NUL"],
    [{ a: "pl4nted → " }, ".headers.a", "cannot carry"],
    [{ a: "env:" }, ".headers.a", "env:NAME"],
    [{ a: "env:A B" }, ".headers.a", "env:NAME"],
    [{ a: 3 }, ".headers.a", "string"],
    [{ a: "1", A: "2" }, ".headers", "holds a twice"],
    ["pl4nted", ".headers", ""],
    [["pl4nted"], ".headers", ""],
  ])("%j are refused, and no value is quoted", (headers, at, said) => {
    const issue = only({ ...http, headers });
    expect(issue).toMatchObject({ code: "declaration_invalid", path: `${AT}${at}` });
    expect(issue?.message).toContain(said);
    expect(JSON.stringify(issue)).not.toContain("pl4nted");
  });

  test.each([{ a: "" }, { a: "tab\there" }, { a: "é" }, { a: "env:NAME" }, { a: "not env:" }, {}])(
    "%j can be used",
    (headers) => {
      expect(issuesOf({ ...http, headers })).toEqual([]);
    },
  );

  test("under a misspelt key are not quoted either", () => {
    const issue = only({ ...http, header: { authorization: "pl4nted" } });
    expect(issue).toMatchObject({ path: `${AT}.header` });
    expect(JSON.stringify(issue)).not.toContain("pl4nted");
  });
});

test.each([
  ["source", { source: "imported:claude" }],
  ["command", { command: ["true"] }],
  ["env", { env: {} }],
  ["method", { method: "GET" }],
])("%s is no key of an http entry", (key, extra) => {
  expect(only({ ...http, ...extra })).toMatchObject({ code: "declaration_invalid", path: `${AT}.${key}` });
});

test("an http entry without an address is refused", () => {
  expect(only({ type: "http" })).toMatchObject({ path: `${AT}.url` });
});

describe.each([
  ["command", { type: "command", command: ["true"] }],
  ["function", { type: "function", handler: () => undefined }],
  ["http", http],
])("a %s entry", (_type, entry) => {
  test.each([
    ["grants", { grants: true }, "grants"],
    ["on_failure: closed", { on_failure: "closed" }, "on_failure"],
    ["a self-test that expects deny", { selftest: [{ input: {}, expect: "deny" }] }, "selftest[0].expect"],
    [
      "a self-test that expects rewrite",
      {
        selftest: [
          { input: {}, expect: "allow" },
          { input: {}, expect: "rewrite" },
        ],
      },
      "selftest[1].expect",
    ],
  ])("that is async refuses %s, because nothing waits for it", (_what, extra, at) => {
    expect(issuesOf({ ...entry, ...extra })).toEqual([]);
    const issue = only({ ...entry, async: true, ...extra });
    expect(issue).toMatchObject({ code: "declaration_invalid", path: `${AT}.${at}` });
    expect(issue?.message).toContain("nothing waits for");
  });

  test.each([
    { async: true },
    { async: true, once: true, on_failure: "open", grants: false },
    { async: true, selftest: [{ input: {}, expect: "context" }] },
    { once: true, grants: true, on_failure: "closed" },
  ])("with %j is fine, on a gate too", (extra) => {
    expect(issuesOf({ ...entry, ...extra })).toEqual([]);
  });

  test.each(["once", "async"])("whose %s is no boolean is refused", (key) => {
    for (const value of ["true", 1, null])
      expect(only({ ...entry, [key]: value })).toMatchObject({
        code: "declaration_invalid",
        path: `${AT}.${key}`,
      });
  });
});

describe("the where of a group", () => {
  const withWhere = (where: unknown, event = "PreToolUse") =>
    validateDeclaration({ [event]: [{ where, hooks: [http] }] }).issues;

  test.each(["PreToolUse", "Stop", "UserPromptSubmit", "agent_exit", "PreModelCall"])(
    "stands on %s",
    (event) => {
      expect(withWhere({ permission_mode: { $in: ["plan"] } }, event)).toEqual([]);
    },
  );

  test.each([
    [{}, "is empty"],
    ["Bash", "expected an object"],
    [{ tool_input: { command: { $regex: "x" } } }, "tool_input.command.$regex: is no operator"],
    [{ a: { $in: "x" } }, "a.$in: expected a list"],
  ])("%j is refused as matcher_invalid, with the path", (where, said) => {
    const issues = withWhere(where);
    expect(issues).toMatchObject([{ code: "matcher_invalid", path: "declaration: PreToolUse[0].where" }]);
    expect(issues[0]?.message).toContain(said);
  });
});

test("WorktreeCreate refuses by name and says why", () => {
  const { issues } = validateDeclaration({ WorktreeCreate: [{ hooks: [http] }] });
  expect(issues).toMatchObject([{ code: "event_unsupported", path: "declaration: WorktreeCreate" }]);
  expect(issues[0]?.message).toContain("path of a worktree");
});
