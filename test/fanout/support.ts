// A folder with a git repository, a fake agent and a state of its own.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FanOut, type FanOutOptions, fanOut, type TaskEnding } from "../../src/fanout/index.ts";
import type { FanOutTask } from "../../src/fanout/task.ts";
import type { HookDeclaration } from "../../src/index.ts";
import { createFakeProvider, type FakeScript } from "../../src/testkit/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";

export interface Stage extends Place {
  readonly stateDir: string;
  /** Options that every fan-out of the stage has. */
  readonly options: FanOutOptions;
  /** Replaces the agent's script. */
  play(script: FakeScript): Promise<void>;
  git(...words: string[]): string;
}

/** Fires nothing but the canary. */
export const NO_GUARD: HookDeclaration = {
  SessionStart: [{ hooks: [{ type: "function", handler: () => undefined }] }],
};

export const DENY_RM: HookDeclaration = {
  PreToolUse: [
    {
      hooks: [
        {
          type: "function",
          handler: (envelope) =>
            String(envelope.tool_command).startsWith("rm")
              ? { decision: "block", reason: "nothing is removed here" }
              : undefined,
        },
      ],
    },
  ],
};

export async function makeStage(script: FakeScript = { steps: [{ text: "{{prompt}}" }] }): Promise<Stage> {
  const place = await makePlace();
  const { cwd, home, env } = place;
  const git = (...words: string[]) =>
    execFileSync("git", ["-C", cwd, "-c", "user.name=T", "-c", "user.email=t@example.com", ...words], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: home },
    });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(cwd, "README.md"), "one\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "one");
  const directory = join(home, "fakes");
  const play = async (it: FakeScript) =>
    void (await createFakeProvider({ provider: "claude", script: it, directory }));
  await play(script);
  return {
    ...place,
    stateDir: join(home, ".local", "state", "bridle"),
    git,
    play,
    options: {
      cwd,
      provider: "claude",
      binary: join(directory, "fake-claude.mjs"),
      prove: "off",
      hooks: NO_GUARD,
      concurrency: 2,
      backoff: { baseMs: 1, capMs: 2 },
      spawn: { baseEnv: env, startGate: "off" },
    },
  };
}

/** Replaces the agent's script at once. */
export function writeScript({ home }: Place, script: FakeScript): void {
  writeFileSync(join(home, "fakes", "fake-claude.json"), JSON.stringify(script));
}

export async function collect(fan: FanOut): Promise<TaskEnding[]> {
  const endings: TaskEnding[] = [];
  for await (const ending of fan) endings.push(ending);
  return endings.sort((one, other) => one.index - other.index);
}

export const runAll = (
  stage: Stage,
  tasks: readonly FanOutTask[] | undefined,
  options: Partial<FanOutOptions> = {},
) => collect(fanOut(tasks, { ...stage.options, ...options }));

export const fanOutsOf = ({ stateDir }: Stage): string[] => {
  const folder = join(stateDir, "fanouts");
  return existsSync(folder) ? readdirSync(folder) : [];
};

export function readOutcomes(stage: Stage, id = fanOutsOf(stage)[0] ?? ""): TaskEnding[] {
  const text = readFileSync(join(stage.stateDir, "fanouts", id, "outcomes.jsonl"), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as TaskEnding);
}

/** Paths of the repository's worktrees, its own apart. */
export const worktreesOf = (stage: Stage): string[] =>
  stage
    .git("worktree", "list", "--porcelain")
    .split("\n")
    .filter((line) => line.startsWith("worktree "))
    .map((line) => line.slice("worktree ".length))
    .slice(1);
