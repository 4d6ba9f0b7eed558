import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/json.ts";
import { codexAdapter } from "../../../src/render/codex/index.ts";

const check = (options: object) =>
  codexAdapter.checkOptions({ cwd: "/work", ...options }, {}).map(({ code, path }) => `${code} ${path}`);

describe("an extra argument", () => {
  test.each([
    "resume",
    "review",
    "fork",
    "--worktree",
    "--thread-source=x",
    "-cfoo=bar",
    "-c",
    "-ofile",
    "-ix.png",
  ])("%s is refused", (arg) => {
    expect(check({ extraArgs: [arg] })).toEqual(["argument_conflict extraArgs[0]"]);
  });

  test("a command behind a flag that has its value is refused", () => {
    expect(check({ extraArgs: ["--color=never", "review"] })).toEqual(["argument_conflict extraArgs[1]"]);
  });

  test("a known one is fine", () => {
    expect(check({ extraArgs: ["--color", "never", "--image=a.png", "--output-schema=s.json"] })).toEqual([]);
  });
});

describe("providerConfig", () => {
  test.each<[string, Json]>([
    ["sandbox_workspace_write", { writable_roots: ["/"] }],
    ["sandbox_workspace_write.writable_roots", ["/"]],
    ["default_permissions", "x"],
    ["permissions.x", {}],
    ["features.hooks", false],
    ["hooks", {}],
    ["notify", ["x"]],
    ["mcp_servers.a", {}],
  ])("%s is refused", (key, value) => {
    expect(check({ providerConfig: { [key]: value } })).toEqual([`argument_conflict providerConfig.${key}`]);
  });

  test("network access in the sandbox is the caller's to admit", () => {
    expect(check({ providerConfig: { "sandbox_workspace_write.network_access": true } })).toEqual([]);
  });

  test("a value too long for one argument is refused by name", () => {
    const providerConfig = { developer_instructions: "x".repeat(150_000) };
    expect(check({ providerConfig })).toEqual(["option_invalid providerConfig.developer_instructions"]);
  });
});
