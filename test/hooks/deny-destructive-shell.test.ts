// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of shell commands

import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { denyDestructiveShell } from "../../src/hooks/index.ts";
import { judgeShell } from "../../src/hooks/shell/judge-shell.ts";
import { readShell } from "../../src/hooks/shell/read-shell.ts";
import { DESTRUCTIVE, FULL_FILES, HARMLESS, PLACE } from "./shell-corpus.ts";
import { askHook, PROVIDERS, placeForTest, runFake, shellCall, thrownBy } from "./support.ts";

const ask = (command: string, options = {}, fields = {}) =>
  askHook(denyDestructiveShell(options), "PreToolUse", shellCall(command, fields));
const decide = async (command: string, options = {}) => (await ask(command, options)).verdict.decision;
const facts = { ...PLACE, holdsText: (path: string) => FULL_FILES.includes(path) };
const isDenied = (text: string) => judgeShell(text, facts).problem !== undefined;

describe("denyDestructiveShell", () => {
  it("denies in words that name program and target", async () => {
    expect((await ask("ls && sudo rm -rf /")).reason).toBe(
      'denyDestructiveShell: the command is not admitted: sudo → rm removes "/"',
    );
  });

  it("lets a harmless command through without a word", async () => {
    expect((await ask("npm test")).verdict).toEqual({ decision: "none" });
  });

  it("says that a text cannot be parsed", async () => {
    expect((await ask("echo 'open")).reason).toContain("cannot be parsed: unterminated");
  });

  it("denies a shell call without a command text", async () => {
    const { reason } = await askHook(denyDestructiveShell(), "PreToolUse", {
      tool_name: "Bash",
      tool_kind: "shell",
      tool_input: {},
    });
    expect(reason).toContain("tool_command");
  });

  it("looks at no other tool", async () => {
    const { verdict } = await askHook(denyDestructiveShell(), "PreToolUse", {
      tool_name: "Read",
      tool_kind: "read",
      tool_input: {},
    });
    expect(verdict.decision).toBe("none");
  });

  it.each([
    ["mcp__shell__run", { command: "rm -rf /" }],
    ["mcp__shell__run", { cmd: "rm -rf /" }],
    ["mcp__shell__run", { script: "ls\nrm -rf /" }],
    ["execute", { command: ["bash", "-lc", "rm -rf /"] }],
    ["execute", { command: ["rm", "-rf", "/"] }],
    ["execute", { command: "rm", args: ["-rf", "/"] }],
    ["execute", { commands: ["ls", "rm -rf /"] }],
  ])("reads the shell behind a tool of no known kind: %s %j", async (tool_name, tool_input) => {
    const decideFor = async (tool_kind: string, input: object) =>
      (
        await askHook(denyDestructiveShell(), "PreToolUse", {
          tool_name,
          tool_kind,
          tool_input: input as never,
        })
      ).verdict.decision;
    expect(await decideFor("mcp", tool_input)).toBe("deny");
    expect(await decideFor("other", tool_input)).toBe("deny");
    expect(await decideFor("mcp", { command: ["ls", "-la", "it's"] })).toBe("none");
    expect(await decideFor("mcp", { text: "rm -rf /" })).toBe("none");
  });

  it("does not read the script of a tool for another language", async () => {
    const fields = {
      tool_name: "mcp__python__run",
      tool_kind: "mcp",
      tool_input: { script: "print('a' if x else \"b\")" },
    };
    expect((await askHook(denyDestructiveShell(), "PreToolUse", fields)).verdict.decision).toBe("none");
  });

  it("denies a PermissionRequest too", async () => {
    const { verdict } = await askHook(denyDestructiveShell(), "PermissionRequest", shellCall("rm -rf /"));
    expect(verdict.decision).toBe("deny");
  });

  it("reads relative targets against the directory that the call names", async () => {
    expect(
      (await ask("rm -rf *", {}, { tool_input: { command: "rm -rf *", workdir: "build" } })).verdict.decision,
    ).toBe("none");
    expect(
      (await ask("rm -rf *", {}, { tool_input: { command: "rm -rf *", workdir: "/" } })).verdict.decision,
    ).toBe("deny");
  });

  it("denies removing what the project lies in", async () => {
    const decideIn = async (command: string) =>
      (await askHook(denyDestructiveShell(), "PreToolUse", shellCall(command), { cwd: "/srv/team/app/web" }))
        .verdict.decision;
    expect(await decideIn("rm -rf ../..")).toBe("deny");
    expect(await decideIn("rm -rf /srv/team")).toBe("deny");
    expect(await decideIn("rm -rf ../../other/build")).toBe("none");
  });

  it("protects the home of the user who runs it", async () => {
    expect(await decide(`rm -rf ${homedir()}`)).toBe("deny");
  });

  it("denies emptying a file that holds something, and no other", async () => {
    const { cwd } = await placeForTest();
    await writeFile(join(cwd, "full.md"), "text");
    await writeFile(join(cwd, "empty.md"), "");
    const decideIn = async (command: string) =>
      (await askHook(denyDestructiveShell(), "PreToolUse", shellCall(command), { cwd })).verdict.decision;
    expect(await decideIn("> full.md")).toBe("deny");
    expect(await decideIn("> empty.md")).toBe("none");
    expect(await decideIn("echo text > full.md")).toBe("none");
    expect(await decideIn("> new.md")).toBe("none");
  });
});

describe("options", () => {
  it("allow lets a command line through that it matches whole, and no longer one", async () => {
    const options = { allow: ["git clean -fdx build"] };
    expect(await decide("git clean -fdx build", options)).toBe("none");
    expect(await decide(" git clean -fdx build\n", options)).toBe("none");
    expect(await decide("git clean -fdx build; rm -rf /", options)).toBe("deny");
    expect(await decide("git clean -fdx", options)).toBe("deny");
  });

  it("extra denies what it finds in the text or in a command as it would run", async () => {
    const options = { extra: ["^npm publish\\b", "prod-db"] };
    expect((await ask("npm publish", options)).reason).toContain('"^npm publish\\\\b" of extra');
    expect(await decide("sudo n'p'm publish", options)).toBe("deny");
    expect(await decide("psql prod-db", options)).toBe("deny");
    expect(await decide("npm pack", options)).toBe("none");
  });

  it.each([
    [{ extra: "x" }, 'denyDestructiveShell: extra must be an array of strings, got "x" (string)'],
    [{ allow: [1] }, "denyDestructiveShell: allow[0] must be a string that is not empty, got 1 (number)"],
    [{ allow: ["("] }, /allow\[0\] must be an RE2 expression \(.*\), got "\(" \(string\)/],
    [{ alow: [] }, 'denyDestructiveShell: unknown option "alow"; known: extra, allow'],
    [[], "denyDestructiveShell: options must be an object of extra, allow, got [] (array)"],
  ])("%j is refused at once with the value and its type", (options, message) => {
    const error = thrownBy(() => denyDestructiveShell(options as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(message);
  });
});

describe("whatever the text", () => {
  const SHORT = DESTRUCTIVE.filter((line) => !/[\n]/.test(line) && !isUnparsable(line));
  function isUnparsable(line: string) {
    return readShell(line, PLACE).problem !== undefined;
  }
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const WRAP: readonly [string, (line: string) => string][] = [
    ["bash -c", (line) => `bash -c ${quote(line)}`],
    ["eval", (line) => `eval ${quote(line)}`],
    ["a subshell", (line) => `(${line}\n)`],
    ["a group", (line) => `{ ${line}\n}`],
    ["a substitution", (line) => `echo "$(${line}\n)"`],
    ["a function", (line) => `f() { ${line}\n}; f`],
    ["a condition", (line) => `if true; then ${line}\nfi`],
    ["a heredoc for a shell", (line) => `bash <<'END'\n${line}\nEND`],
    ["a second line", (line) => `ls\n${line}`],
    ["ssh", (line) => `ssh host ${quote(line)}`],
    ["su", (line) => `su root -c ${quote(line)}`],
    ["nested shells", (line) => `sudo sh -c ${quote(`bash -c ${quote(line)}`)}`],
  ];

  it.each(WRAP)("what is denied is denied inside %s", (_name, wrap) => {
    expect(SHORT.filter((line) => !isDenied(wrap(line)))).toEqual([]);
  });

  it.each(WRAP.filter(([name]) => !/ssh|su$/.test(name)))(
    "what is let through is let through inside %s",
    (_name, wrap) => {
      const lines = HARMLESS.filter((line) => !line.includes("\n") && !/^exec |^cd |\$1|"\$file"/.test(line));
      expect(lines.filter((line) => isDenied(wrap(line)))).toEqual([]);
    },
  );

  test("neither the reader nor the judge throws, and both end", () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom(
        ..."$( ) ` ' \" { } ; & && | || > >> < << <<< \\ \n # ~ * ? [ ] ! rm -rf / $X ${ :- } if then fi do done case esac () eval bash -c EOF".split(
          " ",
        ),
      ),
      fc.constantFrom(...DESTRUCTIVE, ...HARMLESS),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const { problem } = judgeShell(pieces.join(" "), facts);
        return problem === undefined || problem.length > 0;
      }),
      { numRuns: 1_000 },
    );
  });

  test("quotes around letters change nothing", () => {
    const words = fc.constantFrom(
      "rm -rf /",
      "git reset --hard",
      "git push --force",
      "mkfs.ext4 /dev/sda",
      "terraform destroy",
    );
    fc.assert(
      fc.property(words, fc.infiniteStream(fc.constantFrom("", "'", '"', "\\")), (line, marks) => {
        const next = marks[Symbol.iterator]();
        const hidden = [...line].map((letter) => {
          const mark = letter === " " ? "" : next.next().value;
          return mark === "\\" ? `\\${letter}` : `${mark}${letter}${mark}`;
        });
        return isDenied(hidden.join(""));
      }),
    );
  });

  test("a text that is deep, long or of many commands is denied and not stuck in", () => {
    expect(isDenied(`${"$(".repeat(5_000)}rm${")".repeat(5_000)}`)).toBe(true);
    expect(isDenied(`echo ${"a".repeat(1024 * 1024)}`)).toBe(true);
    expect(isDenied("ls;".repeat(6_000))).toBe(true);
    expect(isDenied(Array(200).fill("cat").join("|"))).toBe(true);
    expect(
      isDenied(
        `cd /tmp/w || exit; ${Array.from({ length: 20 }, (_, index) => `cd d${index}`).join("; ")}; cd /; rm -rf *`,
      ),
    ).toBe(true);
    expect(isDenied(`cat > f <<'EOF'\n${"it's `$(fine\n".repeat(40_000)}EOF`)).toBe(false);
    expect(isDenied(`find . ${"\\( ".repeat(30_000)} -delete`)).toBe(true);
    expect(isDenied(`find . ${"-exec ls \\; ".repeat(4_000)}`)).toBe(false);
    expect(isDenied(`${"setpriv -x ".repeat(20_000)} ls`)).toBe(true);
    expect(isDenied(`${"perf ".repeat(20_000)} ls`)).toBe(true);
    expect(isDenied(`env ${"-i ".repeat(100_000)} ls`)).toBe(false);
    expect(isDenied(`env ${"-i ".repeat(100)} -S 'rm -rf /'`)).toBe(true);
    expect(isDenied(`env ${"A=1 ".repeat(2_000)} rm -rf /`)).toBe(true);
    expect(isDenied("f() { f; }; f")).toBe(false);
    expect(isDenied(`A=${"{1,2}".repeat(30)}; $A $A $A`)).toBe(false);
  });
});

describe.each(PROVIDERS)("a run of %s", (provider) => {
  it("does not get to the destructive command, and to the harmless one", async () => {
    const place = await placeForTest();
    await mkdir(join(place.cwd, ".git"));
    await writeFile(join(place.cwd, "kept.txt"), "x");
    const script = {
      steps: [{ tools: [{ shell: "rm -rf *" }] }, { tools: [{ shell: "touch ran" }] }, { text: "done" }],
    };
    const { result, denied } = await runFake(
      place,
      provider,
      { PreToolUse: [{ hooks: [denyDestructiveShell()] }] },
      script,
    );
    expect(existsSync(join(place.cwd, "kept.txt"))).toBe(true);
    expect(existsSync(join(place.cwd, "ran"))).toBe(true);
    expect(denied).toEqual(["PreToolUse"]);
    expect(result.outcome).toBe("success");
  });
});
