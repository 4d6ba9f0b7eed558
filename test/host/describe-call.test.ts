// What a guard is told of a call beside its input: from the tool's own word, and from a copy.

import { expect, test, vi } from "vitest";
import type { HostTool } from "../../src/host/index.ts";
import type { JsonObject } from "../../src/json.ts";
import { on, play } from "./support.ts";

test("what a tool's own description does to its copy changes nothing, and its list is not kept", async () => {
  const seen: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", ({ tool_input, tool_command, tool_paths }) => {
        paths.push("/later");
        seen.push([tool_input, tool_command, tool_paths]);
        return undefined;
      }),
      on("PreToolUse", ({ tool_paths }) => void seen.push(tool_paths)),
    ],
  });
  const paths = ["/srv"];
  const run = vi.fn();
  host.tools.register({
    name: "T",
    kind: "shell",
    command: (input) => {
      input.cmd = "changed by command";
      return "ls";
    },
    paths: (input) => {
      input.cmd = "changed by paths";
      return paths;
    },
    run,
  });
  await host.tools.invoke("T", { cmd: "ls" });
  expect(seen).toEqual([[{ cmd: "ls" }, "ls", ["/srv"]], ["/srv"]]);
  expect(run.mock.calls[0]?.[0]).toEqual({ cmd: "ls" });
});

test.each<[string, Partial<HostTool>, JsonObject, object]>([
  ["a command of a tool that is no shell is none", { kind: "web" }, { command: "ls" }, { tool_kind: "web" }],
  [
    "a command of a shell is one",
    { kind: "shell" },
    { command: "ls" },
    { tool_kind: "shell", tool_command: "ls" },
  ],
  ["a command that is no text is none", { kind: "shell" }, { command: 7 }, { tool_kind: "shell" }],
  [
    "paths where tools keep them are told",
    { kind: "edit" },
    { file_path: "/a" },
    { tool_kind: "edit", tool_paths: ["/a"] },
  ],
  [
    "a patch of an editing tool names its paths",
    { kind: "edit" },
    { command: "*** Update File: a.txt" },
    { tool_kind: "edit", tool_paths: ["a.txt"] },
  ],
  [
    "paths of a tool that neither reads nor edits are none",
    { kind: "web" },
    { path: "/a" },
    { tool_kind: "web" },
  ],
  ["no paths are none", { kind: "edit", paths: () => [] }, { file_path: "/a" }, { tool_kind: "edit" }],
])("told of a call: %s", async (_name, tool, input, told) => {
  const seen: object[] = [];
  const { host } = play({
    inProcess: [
      on("PreToolUse", ({ tool_kind, tool_command, tool_paths }) => {
        seen.push(JSON.parse(JSON.stringify({ tool_kind, tool_command, tool_paths })));
        return undefined;
      }),
    ],
  });
  host.tools.register({ name: "T", run: () => 1, ...tool });
  await host.tools.invoke("T", input);
  expect(seen).toEqual([told]);
});
