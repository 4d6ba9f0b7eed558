import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSecretName, REDACTED } from "../../src/redaction/patterns.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";

const secret = fc.string({ unit: "grapheme-ascii", minLength: 8, maxLength: 40 }).filter((text) => {
  return text.trim() === text && !REDACTED.includes(text);
});
const around = fc.string({ maxLength: 40 });
const redactorOf = (value: string) => createRedactor({ env: { MY_API_KEY: value } });

describe("a planted secret never survives", () => {
  test("in text", () => {
    fc.assert(
      fc.property(secret, around, around, (value, before, after) => {
        expect(redactorOf(value).text(`${before}${value}${after}`)).not.toContain(value);
      }),
      { numRuns: 2_000 },
    );
  });

  test("in the values and keys of JSON, however deep", () => {
    fc.assert(
      fc.property(secret, fc.jsonValue(), around, (value, filler, before) => {
        const planted = { list: [filler, [{ deep: `${before}${value}` }]], [`k${value}`]: filler };
        const shown = redactorOf(value).json(planted);
        expect(JSON.stringify(shown)).not.toContain(JSON.stringify(value).slice(1, -1));
        expect(JSON.stringify(Object.keys(shown))).not.toContain(JSON.stringify(value).slice(1, -1));
      }),
    );
  });

  test("in argv", () => {
    fc.assert(
      fc.property(secret, fc.array(around), around, (value, words, before) => {
        const shown = redactorOf(value).argv([...words, `${before}${value}`]);
        expect(shown.join("\n")).not.toContain(value);
      }),
    );
  });

  test("in a stream cut anywhere", () => {
    const filler = fc.string({ unit: fc.constantFrom("a", "\n", " ", "-"), maxLength: 30 });
    fc.assert(
      fc.property(
        secret,
        filler,
        filler,
        fc.array(fc.nat(100), { maxLength: 8 }),
        (value, before, after, cuts) => {
          const whole = `${before}${value}${after}`;
          const stream = redactorOf(value).stream();
          let shown = "";
          let from = 0;
          for (const at of [...cuts].sort((a, b) => a - b)) {
            shown += stream.push(whole.slice(from, at));
            from = Math.max(from, at);
          }
          shown += stream.push(whole.slice(from)) + stream.end();
          expect(shown).not.toContain(value);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("in a stream without line breaks, longer than what is held back", () => {
    const value = "s3cr3t-value-of-the-caller";
    for (let cut = 1; cut < value.length; cut++) {
      const stream = redactorOf(value).stream();
      const line = "x".repeat(70_000);
      const shown =
        stream.push(line + value.slice(0, cut)) + stream.push(value.slice(cut) + line) + stream.end();
      expect(shown).not.toContain(value);
    }
  });

  test("in its encoded forms", () => {
    const value = 'p"ss/w\\rd+1 2';
    const forms = [encodeURIComponent(value), JSON.stringify(value), Buffer.from(value).toString("base64")];
    const shown = createRedactor({ values: [value] }).text(forms.join(" "));
    for (const form of forms) expect(shown).not.toContain(form.replaceAll(/^"|"$/g, ""));
  });

  test("when another secret is its beginning", () => {
    const redactor = createRedactor({ values: ["abcdefgh", "abcdefgh-and-more"] });
    expect(redactor.text("abcdefgh-and-more")).toBe(REDACTED);
  });
});

test("a value too short to be a secret is left alone", () => {
  expect(createRedactor({ env: { TOKEN: "yes" } }).text("yes, yes")).toBe("yes, yes");
});

test("a stream passes on everything else as it was", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z \n]{0,20}$/)), (chunks) => {
      const stream = createRedactor().stream();
      expect(chunks.map((chunk) => stream.push(chunk)).join("") + stream.end()).toBe(chunks.join(""));
    }),
  );
});

const PEM = (body: string) => `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`;
const jwt = `eyJ${"a".repeat(20)}.${"b".repeat(20)}.${"c".repeat(20)}`;

describe("token shapes", () => {
  test.each([
    ["anthropic", `sk-ant-${"a1".repeat(12)}`],
    ["openai", `sk-proj-${"a1".repeat(12)}`],
    ["stripe", `sk_live_${"a1".repeat(10)}`],
    ["github", `ghp_${"a1".repeat(18)}`],
    ["github, fine grained", `github_pat_${"a1".repeat(18)}`],
    ["gitlab", `glpat-${"a1".repeat(10)}`],
    ["slack", `xoxb-${"1".repeat(12)}`],
    ["google", `AIza${"a".repeat(35)}`],
    ["google, oauth", `ya29.${"a".repeat(24)}`],
    ["npm", `npm_${"a".repeat(36)}`],
    ["huggingface", `hf_${"a".repeat(30)}`],
    ["aws", "AKIAIOSFODNN7EXAMPLE"],
    ["digitalocean", `dop_v1_${"a".repeat(64)}`],
    ["jwt", jwt],
  ])("%s", (_name, token) => {
    expect(createRedactor().text(`before ${token} after`)).toBe(`before ${REDACTED} after`);
  });

  test.each([
    [`Authorization: Bearer ${"x".repeat(20)}`, `Authorization: Bearer ${REDACTED}`],
    ["authorization: Basic dXNlcjpwYXNz", `authorization: Basic ${REDACTED}`],
    [`bearer ${"x".repeat(20)}`, `bearer ${REDACTED}`],
    ["https://user:pass@host/path", `https://${REDACTED}@host/path`],
    ["postgres://u:p4ss@db:5432/x", `postgres://${REDACTED}@db:5432/x`],
    ["tool --token abc next", `tool --token ${REDACTED} next`],
    ["tool --api-key=abc", `tool --api-key=${REDACTED}`],
    ["tool --my-auth-token 'a b' next", `tool --my-auth-token ${REDACTED} next`],
    ["OPENAI_API_KEY=abc", `OPENAI_API_KEY=${REDACTED}`],
    ['export DB_PASSWORD="a b"', `export DB_PASSWORD=${REDACTED}`],
    ["MY_SECRET_2: abc", `MY_SECRET_2: ${REDACTED}`],
    [PEM("MII"), REDACTED],
    ["-----BEGIN PRIVATE KEY-----\nMII", REDACTED],
  ])("%j is shown as %j", (text, shown) => {
    expect(createRedactor().text(text)).toBe(shown);
  });

  test("the word after a secret option goes whole from argv", () => {
    expect(createRedactor().argv(["x", "--password", "hunter2", "--token=abc", "y"])).toEqual([
      "x",
      "--password",
      REDACTED,
      `--token=${REDACTED}`,
      "y",
    ]);
  });

  test("a string under a secret key goes whole from JSON", () => {
    const shown = createRedactor().json({
      apiKey: "x",
      headers: { "x-api-key": "y", accept: "z" },
      authToken: 3,
    });
    expect(shown).toEqual({
      apiKey: REDACTED,
      headers: { "x-api-key": REDACTED, accept: "z" },
      authToken: 3,
    });
  });

  test("a PEM block cut anywhere in a stream never shows its body", () => {
    const body = "MIIEpAIBAAKCAQEA7";
    const whole = `a\n${PEM("first\nblock")}\n${PEM(`${body}\n${body}`)}\nb\n`;
    for (let cut = 0; cut <= whole.length; cut++) {
      const stream = createRedactor().stream();
      const shown = stream.push(whole.slice(0, cut)) + stream.push(whole.slice(cut)) + stream.end();
      expect(shown).not.toContain(body);
    }
  });
});

describe("ordinary text is untouched", () => {
  test.each([
    '{"transcript_path":"/a/b.jsonl","author":"me"}',
    "author: someone",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 527de3c0aa1f6f9f0f3f3e64a1b9d6f1c0e1a2b3",
    "00000000-0000-4000-8000-000000000000",
    "https://example.com/a@b",
    "see user@example.com",
    "http://localhost:3000/path?x=1",
    "the bearer of bad news",
    "a token of my esteem",
    "we re-auth when needed",
    "max_tokens: 1024",
    "input_tokens and output_tokens",
    "tokenizer --tokens 5",
    "pattern path compatible",
    "sk-short",
    "task-runner-with-a-long-name",
    "monkey=banana",
  ])("%s", (text) => {
    expect(createRedactor().text(text)).toBe(text);
  });

  test.each([
    ["OPENAI_API_KEY", true],
    ["authToken", true],
    ["x-api-key", true],
    ["GITHUB_PAT", true],
    ["DB_PASSWORD", true],
    ["transcript_path", false],
    ["author", false],
    ["PATH", false],
    ["max_tokens", false],
    ["compatible", false],
    ["session_id", false],
    ["tokenizer", false],
  ])("the name %s is secret: %s", (name, expected) => {
    expect(isSecretName(name)).toBe(expected);
  });

  test("JSON without secrets is equal, also under hostile keys", () => {
    const input = JSON.parse('{"__proto__":{"a":1},"constructor":null,"list":[true,1.5,"x"]}');
    expect(createRedactor().json(input)).toStrictEqual(input);
  });
});

describe("no input makes redaction slow", () => {
  // Long enough that a pattern that looks again from every start runs out of time.
  const long = (piece: string) => piece.repeat(Math.ceil(100_000 / piece.length));
  test.each([
    "A",
    "TOKEN",
    "TOKEN_",
    "-a",
    "--a-a",
    "eyJ-",
    "eyJaaaaaaaa",
    "authorization",
    "authorization ",
    "bearer ",
    "bearer",
    "a://",
    "a://a",
    "a:",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "sk-",
    "sk-a",
    "xoxb",
    " ",
    '"',
    "--token ",
    "--token '",
    "A_TOKEN='",
  ])(
    "%j",
    (piece) => {
      expect(createRedactor().text(long(piece))).toBeTypeOf("string");
    },
    10_000,
  );
});
