import { expect, it } from "vitest";
import { checkOptionShapes } from "../../src/spawn/options-schema.ts";

const base = { hooks: {}, prompt: "hello", cwd: "/" };

it("the options of an ordinary run have no problem", () => {
  const options = {
    ...base,
    baseEnv: process.env,
    signal: new AbortController().signal,
    admit: { denyRules: false },
    mcpServers: {
      local: { command: "server", args: ["-v"], env: { A: "b" } },
      remote: { url: "http://127.0.0.1/", headers: {} },
    },
    receiptSink: () => {},
  };
  expect(checkOptionShapes(options)).toEqual([]);
});

it.each([
  ["a misspelt option", { keepsession: true }, "keepsession"],
  ["an unknown key of admit", { admit: { foo: 1 } }, "admit.foo"],
  ["a text where a switch is meant", { allowHookChange: "no" }, "allowHookChange"],
  ["a text where a switch is meant, inside admit", { admit: { denyRules: "false" } }, "admit.denyRules"],
  ["an unknown word", { admit: { instructions: "all" } }, "admit.instructions"],
  ["null for an object", { admit: null }, "admit"],
  ["a text for a list", { passEnv: "HOME" }, "passEnv"],
  ["a text for the secrets", { secrets: "abc" }, "secrets"],
  ["a signal that is none", { signal: {} }, "signal"],
  ["a containment of another word", { containment: "container" }, "containment"],
  ["a text for a number", { maxLineBytes: "1 MiB" }, "maxLineBytes"],
  ["no environment", { baseEnv: null }, "baseEnv"],
  ["a server whose command is argv", { mcpServers: { a: { command: ["x"] } } }, "mcpServers.a"],
])("%s is refused by name", (_what, extra, path) => {
  expect(checkOptionShapes({ ...base, ...extra })).toMatchObject([{ code: "option_invalid", path }]);
});
