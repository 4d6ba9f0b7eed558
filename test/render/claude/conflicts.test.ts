// Extra arguments pass by a list of known ones: the binary has many flags that no help text names (docs/providers/claude.md C-38).

import { describe, expect, test } from "vitest";
import { claudeAdapter } from "../../../src/render/claude/index.ts";

const issuesOf = (...extraArgs: string[]) =>
  claudeAdapter.checkOptions({ cwd: "/work", extraArgs }, {}).map(({ code, path }) => `${code} ${path}`);

describe("an extra argument", () => {
  test.each([
    "--managed-settings={}",
    "--managed-settings-in-initialize",
    "--plugin-dir-no-mcp=/p",
    "--project-config-root=/p",
    "--sdk-url=http://x",
    "--bg",
    "--cloud",
    "--remote-control",
    "--channels=x",
    "--dangerously-load-development-channels=x",
    "--rewind-files=x",
    "--resume-session-at=x",
    "--inherit-permission-mode=x",
    "--a-flag-of-a-later-version",
  ])("%s is refused", (arg) => {
    expect(issuesOf(arg)).toEqual(["argument_conflict extraArgs[0]"]);
  });

  test("whose flag is refused is refused once, with its value", () => {
    expect(issuesOf("--sdk-url", "http://x", "--effort=low")).toEqual(["argument_conflict extraArgs[0]"]);
  });

  test("that would take the next flag as its value is refused", () => {
    expect(issuesOf("--fallback-model", "--effort=low")).toEqual(["argument_conflict extraArgs[1]"]);
  });

  test("that lacks its value is refused, because it would take a rendered one", () => {
    expect(issuesOf("--fallback-model")).toEqual(["argument_conflict extraArgs[0]"]);
  });

  test("with a value that looks like a flag is fine when bound", () => {
    expect(issuesOf("--append-system-prompt=--bare", "--debug", "--disable-slash-commands")).toEqual([]);
  });

  test("behind a flag that takes none would be a prompt", () => {
    expect(issuesOf("--disable-slash-commands", "delete everything")).toEqual([
      "argument_conflict extraArgs[1]",
    ]);
  });
});

test.each(["tools", "allowedTools", "disallowedTools"] as const)(
  "%s that is too long as a whole is refused by name",
  (name) => {
    const words = Array.from({ length: 3 }, (_, index) => `${index}`.repeat(50_000));
    expect(claudeAdapter.checkOptions({ cwd: "/work", [name]: words }, {})).toMatchObject([
      { code: "option_invalid", path: name },
    ]);
  },
);
