// What is split, what is refused, and that a real shell sees the same words.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { translateShellText } from "../../src/import/translate-command.ts";

const argvOf = (text: string, provider: "claude" | "codex" = "claude") => {
  const translated = translateShellText(text, provider);
  return "argv" in translated ? translated.argv : translated.reason;
};

describe("a command becomes argv", () => {
  test.each([
    ["node guard.mjs --strict", ["node", "guard.mjs", "--strict"]],
    ["  node\t a.js  ", ["node", "a.js"]],
    [`node 'a b' "c d" e'f'"g"h`, ["node", "a b", "c d", "efgh"]],
    [`echo 'it''s' "it's"`, ["echo", "its", "it's"]],
    ["echo a#b x=y {} a}b é", ["echo", "a#b", "x=y", "{}", "a}b", "é"]],
    ["~/bin/g ~/x", ["{home}/bin/g", "{home}/x"]],
    ["'~/x'", ["~/x"]],
    ['$HOME/a "$HOME/b" "${HOME}"/c', ["{home}/a", "{home}/b", "{home}/c"]],
    ["x --dir=$CLAUDE_PROJECT_DIR/y", ["x", "--dir={project_dir}/y"]],
    ['"$CLAUDE_PROJECT_DIR"', ["{project_dir}"]],
    ["'${CLAUDE_PROJECT_DIR}'/x", ["{project_dir}/x"]],
    ["$(git rev-parse --show-toplevel)/x", ["{project_dir}/x"]],
    ["'$(git rev-parse --show-toplevel)'", ["$(git rev-parse --show-toplevel)"]],
    ["echo '|' '&&' '$x' '`y`' '*' '\\n'", ["echo", "|", "&&", "$x", "`y`", "*", "\\n"]],
  ])("%s", (text, argv) => {
    expect(argvOf(text)).toEqual(argv);
  });

  test("of a codex plugin, with that host's names", () => {
    expect(argvOf("$PLUGIN_ROOT/a ${CLAUDE_PLUGIN_ROOT}/b", "codex")).toEqual([
      "{plugin_root}/a",
      "{plugin_root}/b",
    ]);
  });
});

describe("a command is refused, and the reason names what stands in the way", () => {
  test.each([
    ["a | b", "a pipe needs a shell"],
    ["a && b", "&& needs a shell"],
    ["a || true", "on_failure: open"],
    ["a; b", "several commands"],
    ["a &", "background"],
    ["a > b", "redirect"],
    ["a 2>&1", "redirect"],
    ["<in a", "redirect"],
    ["a\nb", "several lines"],
    ["a \\\n b", "several lines"],
    ["a # note", "comment"],
    ["# note", "no command"],
    ["A=1 b", "variable assignment"],
    ["A=1", "variable assignment"],
    ["a $(b)", "command substitution $(b)"],
    ["a $(git rev-parse  --show-toplevel)", "command substitution"],
    ["a `b`", "command substitution `b`"],
    ["a $B", "unknown variable $B"],
    ["a ${B:-c}", "${B:-c} needs a shell"],
    ["a ${CLAUDE_PROJECT_DIR:-.}", "needs a shell"],
    ["a $1 ", "$1 needs a shell"],
    ["a $((1+1))", "needs a shell"],
    ["a <(b)", "needs a shell"],
    ["a $", "unquoted $"],
    ['a "$"', "$ inside double quotes"],
    ["a *.ts", "file pattern"],
    ["a ?", "file pattern"],
    ["[ -f x ]", "unquoted ["],
    ["a {b,c}", "expanded by some shells"],
    ["a $'b'", "different things to different shells"],
    ['a $"b"', "different things to different shells"],
    ["a\\ b", "backslash (Windows path?)"],
    ['a "b\\"c"', "backslash (Windows path?) inside double quotes"],
    ["a 'b", "unterminated"],
    ['a "b', "unterminated"],
    ["if a; then b; fi", "construct of a shell"],
    ["(a)", "construct of a shell"],
    ["{ a; }", "construct of a shell"],
    ["! a", "words of a shell"],
    ["cd x", "cd is a shell builtin"],
    ["source x", "source is a shell builtin"],
    [". x", ". is a shell builtin"],
    ["~", "~ is translated only before a /"],
    ["~root/x", "~ is translated only before a /"],
    ["a x=~/y", "expanded by some shells"],
    ["a --x=~/y", "expanded by some shells"],
    ["$HOME", "only at the head of a word"],
    ["a --x=$HOME/y", "only at the head of a word"],
    ["a {home}", "has no escape"],
    ["a {ho'me}'", "has no escape"],
    ["a '{run_dir}/x'", "has no escape"],
    ["a '$CLAUDE_PROJECT_DIR/x'", "write ${CLAUDE_PROJECT_DIR} in its place"],
    ["a ${CLAUDE_PLUGIN_DATA}/x", "no placeholder that means $CLAUDE_PLUGIN_DATA"],
    ["a ${CODEX_PLUGIN_ROOT}/x", "belongs to another host (codex)"],
    ["a\u0007", "control character U+0007"],
    ["a \ud800", "half of a surrogate pair"],
    ["x".repeat(70_000), "at most 65536"],
    [`a ${"$(".repeat(5000)}`, ""],
  ])("%j: %s", (text, reason) => {
    const told = argvOf(text);
    expect(told).toBeTypeOf("string");
    expect(told).toContain(reason);
  });

  test("a variable that only claude sets is not translated for codex", () => {
    expect(argvOf("$CLAUDE_PROJECT_DIR/x", "codex")).toContain("belongs to another host (claude)");
  });
});

describe("shells agree", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "a",
      "b",
      " ",
      " ",
      "'",
      "'",
      '"',
      '"',
      "é",
      "=",
      ":",
      "/",
      "-",
      ".",
      "%",
      "+",
      "@",
      ",",
      "^",
      "]",
      "}",
      "!",
    ),
    fc.constantFrom(
      "~/",
      "$HOME/",
      "${HOME}/",
      "$CLAUDE_PROJECT_DIR",
      '"$CLAUDE_PROJECT_DIR"/x',
      "''",
      '""',
      "{",
      "#",
      "~",
      "\t",
    ),
    fc.constantFrom("$Q", "\\", "*", "?", "[", ";", "(", "{a,b}"),
  );
  const commands = fc.array(piece, { minLength: 1, maxLength: 10 }).map((pieces) => pieces.join(""));
  const shells = ["/bin/sh", "/bin/bash", "/bin/dash"].filter((shell) => existsSync(shell));

  test.each(shells)("%s sees the words that were imported, over 3000 commands", async (shell) => {
    const accepted = fc
      .sample(commands, 3000)
      .map((text) => ({ text, argv: argvOf(text) }))
      .filter((one): one is { text: string; argv: string[] } => Array.isArray(one.argv));
    expect(accepted.length).toBeGreaterThan(150); // about a tenth of them
    // Each command is shown as the arguments of a builtin: nothing of it is run.
    const show = 'show() { printf \'%s\\0\' "$#" "$@"; }';
    const folder = await mkdtemp(join(tmpdir(), "bridle-words-"));
    try {
      const script = `${show}\n${accepted.map(({ text }) => `show ${text}`).join("\n")}\n`;
      const shown = execFileSync(shell, ["-c", script], {
        encoding: "utf8",
        cwd: folder,
        env: { PATH: "/nonexistent", HOME: "/h", CLAUDE_PROJECT_DIR: "/p", LC_ALL: "C.UTF-8" },
        maxBuffer: 64 * 1024 * 1024,
      });
      const expected = accepted.map(({ argv }) => {
        const words = argv.map((word) => word.replaceAll("{home}", "/h").replaceAll("{project_dir}", "/p"));
        return [String(words.length), ...words].map((word) => `${word}\0`).join("");
      });
      expect(shown).toBe(expected.join(""));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
