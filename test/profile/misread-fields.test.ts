import { expect, test } from "vitest";
import { explainSilence, findMisreadInput } from "../../src/profile/misread-fields.ts";

test.each([
  ["jq -r '.input.command'", "it reads input.command, the envelope has tool_input.command"],
  ['data["args"]["path"]', "it reads args.path, the envelope has tool_input.path"],
  ["exit 0", "it reads none of tool_input, tool_command and tool_paths"],
  [
    'input = data.get("input"); input.get("command")',
    "it reads input.command, the envelope has tool_input.command",
  ],
  ["case $1 in rm*) exit 2;; esac", "it reads its arguments ($1), the envelope has tool_input, on stdin"],
  ["echo $TOOL_INPUT", "it reads the variable TOOL_INPUT, the envelope has tool_input, on stdin"],
  ["if d['tool'] == 'Bash'", "it reads tool, the envelope has tool_name"],
  ["const input = envelope.tool_input; input.command", undefined],
])("the words %j are explained as %j", (text, why) => {
  expect(explainSilence(text, { isTool: true })).toBe(why);
});

test("of a prompt's guard it is told when it does not read the prompt", () => {
  expect(explainSilence("const { message } = envelope", { isTool: false })).toBe("it does not read prompt");
  expect(explainSilence("const { prompt } = envelope", { isTool: false })).toBeUndefined();
});

test.each([
  ["const { input } = x; input.command", "input.command, the envelope has tool_input.command"],
  ["jq -r '.args[\"cmd\"]'", "args.cmd, the envelope has tool_input.command"],
  ["x.tool_input.command; input.command", undefined],
  ["echo nothing", undefined],
])("of %j the field that is misread is %s", (text, misread) => {
  expect(findMisreadInput(text)).toBe(misread);
});
