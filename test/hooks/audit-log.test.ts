import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { auditLog } from "../../src/hooks/index.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { askHook, editCall, PROVIDERS, runFake, shellCall, thrownBy } from "./support.ts";

let place: Place;
let path: string;
beforeEach(async () => {
  place = await makePlace();
  path = join(place.home, "audit.jsonl");
});
afterEach(() => place.remove());

const lines = async () =>
  (await readFile(path, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("a line", () => {
  it("holds names, sizes, paths and the command, and nothing of what the tool is given or gives back", async () => {
    const audit = auditLog({ path });
    await askHook(audit, "PreToolUse", shellCall("ls -la", { tool_use_id: "t" }));
    await askHook(
      audit,
      "PostToolUse",
      editCall("src/a.ts", { tool_input: { content: "private text" }, tool_response: "private answer" }),
    );
    await askHook(audit, "UserPromptSubmit", { prompt: "private prompt" });
    const written = await lines();
    expect(written).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: "PreToolUse",
        session_id: "s",
        run_id: "r",
        tool: "Bash",
        kind: "shell",
        command: "ls -la",
        command_bytes: 6,
        input_bytes: 20,
      },
      expect.objectContaining({
        event: "PostToolUse",
        paths: ["src/a.ts"],
        paths_count: 1,
        input_bytes: 26,
        response_bytes: 16,
      }),
      expect.objectContaining({ event: "UserPromptSubmit", prompt_bytes: 14 }),
    ]);
    expect(await readFile(path, "utf8")).not.toContain("private");
  });

  it("holds the command without its secrets, cut to a length", async () => {
    const secret = `ghp_${"aB3dE5fG7h".repeat(4)}`;
    await askHook(
      auditLog({ path }),
      "PreToolUse",
      shellCall(`curl -H 'x: ${secret}' --password hunter22 ${"x".repeat(10_000)}`),
    );
    const [{ command } = {}] = await lines();
    expect(command).not.toContain(secret.slice(4, 20));
    expect(command).not.toContain("hunter22");
    expect(String(command)).toHaveLength(4_097);
  });

  it("stays one line, whatever the command holds", async () => {
    await askHook(auditLog({ path }), "PreToolUse", shellCall('echo "\n{}\n\u2028"'));
    expect(await lines()).toHaveLength(1);
  });

  it("is written for the named events alone", async () => {
    const audit = auditLog({ path, events: ["PostToolUse"] });
    await askHook(audit, "PreToolUse", shellCall("ls"));
    expect(existsSync(path)).toBe(false);
    await askHook(audit, "PostToolUse", shellCall("ls", { tool_response: "" }));
    expect(await lines()).toHaveLength(1);
  });

  it("is whole when calls come at the same time", async () => {
    const audit = auditLog({ path });
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => askHook(audit, "PreToolUse", shellCall(`echo ${index}`))),
    );
    expect(new Set((await lines()).map(({ command }) => command)).size).toBe(50);
  });
});

describe("the file", () => {
  it("is for its owner alone, under any umask", async () => {
    const before = process.umask(0);
    try {
      await askHook(auditLog({ path }), "PreToolUse", shellCall("ls"));
    } finally {
      process.umask(before);
    }
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["is in a folder that is not there", async () => {}, () => join(place.home, "none", "a.jsonl"), /ENOENT/],
    ["is a folder", async () => void (await mkdir(path)), () => path, /EISDIR/],
    ["is a link", async () => void (await symlink(join(place.home, "other"), path)), () => path, /ELOOP/],
    [
      "is a pipe that nobody reads",
      async () => void spawnSync("mkfifo", [path]),
      () => path,
      /ENXIO|no regular file/,
    ],
    [
      "may be read by others",
      async () => {
        await writeFile(path, "");
        await chmod(path, 0o644);
      },
      () => path,
      /mode is 0644, .*chmod 600/,
    ],
  ])("that %s denies the call and says why", async (_name, prepare, pathOf, message) => {
    await prepare();
    const { reason, steps } = await askHook(auditLog({ path: pathOf() }), "PreToolUse", shellCall("ls"));
    expect(reason).toMatch(message);
    expect(reason).toContain(`auditLog: cannot append to ${pathOf()}`);
    expect(steps[0]?.failed).toBe(true);
  });

  it("that cannot be written lets the call through only when its entry fails open", async () => {
    const audit = { ...auditLog({ path: join(place.home, "none", "a") }), on_failure: "open" as const };
    const { verdict, steps } = await askHook(audit, "PreToolUse", shellCall("ls"));
    expect(verdict.decision).toBe("none");
    expect(steps[0]?.failed).toBe(true);
  });
});

describe("options", () => {
  it.each([
    [undefined, "auditLog: path must be the path of a file, got undefined (undefined)"],
    [{ path: "" }, 'auditLog: path must be the path of a file, got "" (string)'],
    [{ path: "a", events: ["Nothing"] }, /events must be names of events \(.*\), got "Nothing" \(string\)/],
    [{ path: "a", event: [] }, 'auditLog: unknown option "event"; known: path, events'],
  ])("%j are refused at once", (options, message) => {
    expect(thrownBy(() => auditLog(options as never)).message).toMatch(message);
  });
});

describe.each(PROVIDERS)("a run of %s", (provider) => {
  const script = { steps: [{ tools: [{ shell: "touch ran" }] }, { text: "done" }] };

  it("leaves a line for each call", async () => {
    const audit = auditLog({ path });
    const hooks = [{ hooks: [audit] }];
    await runFake(place, provider, { PreToolUse: hooks, PostToolUse: hooks, SessionStart: hooks }, script);
    const written = await lines();
    expect(written.map(({ event }) => event)).toEqual(["SessionStart", "PreToolUse", "PostToolUse"]);
    expect(written[1]).toMatchObject({ provider, kind: "shell", command: "touch ran" });
  });

  it("does nothing that could not be written down", async () => {
    const audit = auditLog({ path: join(place.home, "none", "a") });
    const { denied } = await runFake(place, provider, { PreToolUse: [{ hooks: [audit] }] }, script);
    expect(denied).toEqual(["PreToolUse"]);
    expect(existsSync(join(place.cwd, "ran"))).toBe(false);
  });
});
