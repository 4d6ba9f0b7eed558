// The hash of a command is the one that any program finds which follows the record's definition, sha256(json.dumps(argv)).

import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hashCommand, refuseBlank, toPythonJson } from "../../src/trust/command-hash.ts";

test.each([
  [["uv", "run", "guards/check_cmd.py"], "f6e3b744922b5127"],
  [["./h", "gérard"], "5365d7c8951d35b3"],
])("the hash of %j begins with %s", (argv, hash) => {
  expect(hashCommand(argv).slice(0, 16)).toBe(hash);
});

test.each([
  [["a", "b"], '["a", "b"]'],
  [["\u007f"], '["\\u007f"]'],
  [["😀"], '["\\ud83d\\ude00"]'],
  [["\u2028\u00e9"], '["\\u2028\\u00e9"]'],
  [['"\\/\n\t'], '["\\"\\\\/\\n\\t"]'],
])("%j is written as %s", (argv, json) => {
  expect(toPythonJson(argv)).toBe(json);
});

const hasPython = spawnSync("python3", ["-c", ""]).status === 0;

test.skipIf(!hasPython)("whatever an argv holds, it is written as Python writes it", () => {
  const argvs = fc.sample(
    fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" })), { maxLength: 5 }),
    2_000,
  );
  const program = "import json,sys\nfor line in sys.stdin: print(json.dumps(json.loads(line)))";
  const input = `${argvs.map((argv) => JSON.stringify(argv)).join("\n")}\n`;
  const { stdout } = spawnSync("python3", ["-c", program], { input, encoding: "utf8", maxBuffer: 1 << 26 });
  expect(argvs.map(toPythonJson)).toEqual(stdout.trimEnd().split("\n"));
});

test.each([[[]], [["ok", ""]], [["ok", "  "]], ["echo unsafe"], [["ok", 1]], [undefined]])(
  "%j cannot be trusted",
  (argv) => {
    expect(() => refuseBlank(argv)).toThrow(expect.objectContaining({ name: "AgentHooksRefused" }));
  },
);
