// What an agent leaves in its worktree stays, also where `git status` shows nothing of it.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FanOutProgress } from "../../src/fanout/index.ts";
import { makeStage, runAll, type Stage, worktreesOf } from "./support.ts";

const COMMIT = "git -c user.name=A -c user.email=a@example.com commit -q --allow-empty";

let stage: Stage;
beforeEach(async () => {
  stage = await makeStage();
});
afterEach(() => stage.remove());

/** Runs one task whose agent does this in its worktree. */
async function work(shell: string) {
  const warnings: string[] = [];
  const onProgress = (progress: FanOutProgress) => {
    if (progress.type === "warning") warnings.push(progress.message);
  };
  await stage.play({
    steps: [{ tools: [{ shell: `(${shell}) && touch "$HOME/worked"` }] }, { text: "done" }],
  });
  const [ending] = await runAll(stage, [{ prompt: "a" }], { worktree: true, onProgress });
  expect(ending?.outcome).toBe("success");
  expect(existsSync(join(stage.home, "worked"))).toBe(true);
  return { kept: ending?.worktrees ?? [], warnings };
}

/** A commit in which `mod` is a submodule. */
function addSubmodule(): void {
  const commit = stage.git("rev-parse", "HEAD").trim();
  stage.git("update-index", "--add", "--cacheinfo", `160000,${commit},mod`);
  writeFileSync(join(stage.cwd, ".gitmodules"), '[submodule "mod"]\n\tpath = mod\n\turl = ./mod\n');
  stage.git("add", ".gitmodules");
  stage.git("commit", "--quiet", "-m", "mod");
}

describe("a worktree is kept", () => {
  test("for files in the folder of a submodule", async () => {
    addSubmodule();
    const { kept, warnings } = await work(
      'echo precious >mod/precious.txt && test -z "$(git status --porcelain)"',
    );
    expect(readFileSync(join(kept[0] ?? "", "mod", "precious.txt"), "utf8")).toBe("precious\n");
    expect(warnings).toEqual([]);
  });

  test.each([["--assume-unchanged"], ["--skip-worktree"]])("for changes that %s hides", async (flag) => {
    const { kept } = await work(`git update-index ${flag} README.md && echo changed >README.md`);
    expect(readFileSync(join(kept[0] ?? "", "README.md"), "utf8")).toBe("changed\n");
  });

  test.each([
    ["HEAD was moved back from", `${COMMIT} -m two && git checkout -q --detach HEAD~1`],
    ["a reset left", `${COMMIT} -m two && git reset -q --hard HEAD~1`],
    [
      "only ORIG_HEAD names",
      'git rev-parse HEAD >"$(git rev-parse --git-dir)/ORIG_HEAD" && git update-ref ORIG_HEAD "$(git -c user.name=A -c user.email=a@example.com commit-tree -p HEAD -m two "HEAD^{tree}")"',
    ],
  ])("for commits that %s", async (_which, shell) => {
    const { kept, warnings } = await work(shell);
    expect([kept.length, warnings]).toEqual([1, []]);
    expect(worktreesOf(stage)).toEqual(kept);
  });

  test.each([
    ["its .git was removed", "rm -f .git && echo changed >README.md", "is not there any more"],
    [
      "its .git is a repository of its own",
      "rm -f .git && git init -q && git add . && git -c user.name=A -c user.email=a@example.com commit -qm x",
      "is not the one that was made",
    ],
    [
      "its .git names another repository",
      'git init -q "$HOME/other" && echo "gitdir: $HOME/other/.git" >.git',
      "names another repository",
    ],
    [
      "its .git names another worktree",
      'git worktree add -q --detach "$HOME/second" && cp "$HOME/second/.git" .git',
      "names another worktree",
    ],
    ["git fails in it", 'echo broken >"$(git rev-parse --git-dir)/index"', "git status: "],
    [
      "the log of its HEAD was emptied",
      `${COMMIT} -m two && git checkout -q --detach HEAD~1 && git reflog expire --expire=now --all`,
      "was emptied",
    ],
    ["the log of its HEAD was removed", 'rm "$(git rev-parse --git-dir)/logs/HEAD"', "logs/HEAD"],
  ])("and that is told, when %s", async (_which, shell, word) => {
    const { kept, warnings } = await work(shell);
    expect(existsSync(kept[0] ?? "")).toBe(true);
    expect(warnings).toEqual([expect.stringContaining(word)]);
    expect(warnings[0]).toContain(`${kept[0]} was kept, because it cannot be told what it holds: `);
  });
});

describe("a worktree is removed", () => {
  test.each([
    [
      "the agent only looked at other commits",
      "git checkout -q --detach HEAD~1 && git checkout -q --detach main",
    ],
    ["its commits are on a branch", `${COMMIT} -m two && git branch saved && git checkout -q --detach main`],
    ["a submodule is as it was", "git ls-files --stage | grep -q ^160000"],
  ])("when %s", async (_which, shell) => {
    addSubmodule();
    expect(await work(shell)).toEqual({ kept: [], warnings: [] });
    expect(worktreesOf(stage)).toEqual([]);
  });

  test("when the repository keeps no logs of its own", async () => {
    stage.git("config", "core.logAllRefUpdates", "false");
    expect(await work("true")).toEqual({ kept: [], warnings: [] });
    expect((await work(`${COMMIT} -m two && git checkout -q --detach HEAD~1`)).kept).toHaveLength(1);
  });

  test("when a sparse checkout is as it was", async () => {
    mkdirSync(join(stage.cwd, "sub"));
    mkdirSync(join(stage.cwd, "other"));
    for (const name of ["sub", "other"]) writeFileSync(join(stage.cwd, name, "file"), "x\n");
    stage.git("add", ".");
    stage.git("commit", "--quiet", "-m", "sub");
    stage.git("sparse-checkout", "set", "sub");
    expect(await work("git ls-files -v | grep -q '^S '")).toEqual({ kept: [], warnings: [] });
  });
});
