import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lintAfterEdit } from "../../src/hooks/index.ts";
import type { JsonObject } from "../../src/json.ts";
import { makePlace, type Place } from "../spawn/support.ts";
import { askHook, editCall, PROVIDERS, runFake, thrownBy } from "./support.ts";

let place: Place;
let cwd: string;
/** Notes its arguments, one a line, in `calls`. */
let linter: string;
beforeEach(async () => {
  place = await makePlace();
  cwd = place.cwd;
  linter = await program("lint", 'for word in "$@"; do echo "$word" >>"$HOME_OF_TEST/calls"; done');
  for (const file of ["a.ts", "b.md", "--fix", "c d.ts"]) await writeFile(join(cwd, file), "x");
});
afterEach(() => place.remove());

async function program(name: string, body: string): Promise<string> {
  const path = join(place.home, name);
  await writeFile(path, `#!/bin/sh\nHOME_OF_TEST=${place.home}\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

const ask = (options: object, paths: readonly string[], fields: JsonObject = {}) =>
  askHook(
    lintAfterEdit({ command: [linter], ...options }),
    "PostToolUse",
    editCall(paths[0] ?? "", { tool_paths: [...paths], tool_response: {}, ...fields }),
    { cwd },
  );
const calls = async () =>
  existsSync(join(place.home, "calls"))
    ? (await readFile(join(place.home, "calls"), "utf8")).trimEnd().split("\n")
    : [];

describe("the linter", () => {
  it("gets its arguments, then the absolute paths of the files", async () => {
    expect(
      (await ask({ command: [linter, "--strict", "--"] }, ["a.ts", join(cwd, "c d.ts")])).verdict,
    ).toEqual({ decision: "none" });
    expect(await calls()).toEqual(["--strict", "--", join(cwd, "a.ts"), join(cwd, "c d.ts")]);
  });

  it("gets a name that looks like an option as a path", async () => {
    await ask({}, ["--fix"]);
    expect(await calls()).toEqual([join(cwd, "--fix")]);
  });

  it("gets no shell: what a name holds is not run", async () => {
    const name = "$(touch ran);touch ran.ts";
    await writeFile(join(cwd, name), "x");
    await ask({}, [name]);
    expect(await calls()).toEqual([join(cwd, name)]);
    expect(existsSync(join(cwd, "ran"))).toBe(false);
  });

  it("is not asked about files that are deleted, folders, or outside the directory, also by a link", async () => {
    await mkdir(join(cwd, "folder"));
    await writeFile(join(place.home, "outside.ts"), "x");
    await symlink(join(place.home, "outside.ts"), join(cwd, "link.ts"));
    await ask({}, [
      "deleted.ts",
      "folder",
      "../outside.ts",
      join(place.home, "outside.ts"),
      "link.ts",
      "/etc/passwd",
    ]);
    expect(await calls()).toEqual([]);
  });

  it("is asked once about a file that is named twice", async () => {
    await ask({}, ["a.ts", "./a.ts", join(cwd, "a.ts")]);
    expect(await calls()).toEqual([join(cwd, "a.ts")]);
  });

  it("is asked about the named endings alone", async () => {
    await ask({ extensions: [".ts"] }, ["a.ts", "b.md"]);
    expect(await calls()).toEqual([join(cwd, "a.ts")]);
  });

  it("is found on PATH, and with a slash in the directory of the agent", async () => {
    await writeFile(join(cwd, "own"), "#!/bin/sh\nexit 7\n");
    await chmod(join(cwd, "own"), 0o755);
    expect((await ask({ command: ["./own"] }, ["a.ts"])).reason).toContain("exit 7");
    expect((await ask({ command: ["true"] }, ["a.ts"])).verdict.decision).toBe("none");
  });
});

describe("what it complains about", () => {
  it("reaches the model, from stdout and stderr", async () => {
    const loud = await program("loud", "echo bad line; echo worse >&2; exit 1");
    expect((await ask({ command: [loud] }, ["a.ts"])).reason).toBe(
      `lintAfterEdit: ${loud} found problems (exit 1):\nbad line\nworse`,
    );
  });

  it("is cut when it is long, and without secrets", async () => {
    const secret = `ghp_${"aB3dE5fG7h".repeat(4)}`;
    const long = await program("long", `echo ${secret}; yes problem | head -n 100000; exit 1`);
    const { reason } = await ask({ command: [long] }, ["a.ts"]);
    expect(reason.length).toBeLessThan(9_000);
    expect(reason).toMatch(/… \(cut\)$/);
    expect(reason).not.toContain(secret.slice(4, 20));
  });

  it("is said to be nothing when it prints nothing", async () => {
    expect((await ask({ command: ["false"] }, ["a.ts"])).reason).toContain("it printed nothing");
  });

  it("is that it did not answer when it hangs", async () => {
    const hangs = await program("hangs", "sleep 600");
    expect((await ask({ command: [hangs], timeout: 0.2 }, ["a.ts"])).reason).toContain(
      "no answer within 200 ms",
    );
  });

  it("is that it was killed when a signal ended it", async () => {
    const dies = await program("dies", "kill -9 $$");
    expect((await ask({ command: [dies] }, ["a.ts"])).reason).toContain("killed by SIGKILL");
  });
});

describe("a linter that cannot be started", () => {
  it.each([["no-such-linter-anywhere"], ["./none"]])("is a failure that is told: %s", async (name) => {
    const { steps, verdict } = await ask({ command: [name] }, ["a.ts"]);
    expect(steps[0]?.failed).toBe(true);
    expect(steps[0]?.notes[0]?.detail).toContain(`the program ${JSON.stringify(name)} is not there`);
    expect(verdict.decision).toBe("none");
  });

  it("is one too when it may not be executed", async () => {
    await writeFile(join(cwd, "plain"), "x");
    const { steps } = await ask({ command: ["./plain"] }, ["a.ts"]);
    expect(steps[0]?.notes[0]?.detail).toContain("not executable");
  });
});

describe("options", () => {
  it.each([
    [undefined, "lintAfterEdit: command must be an array of strings, got undefined (undefined)"],
    [{ command: "eslint ." }, 'lintAfterEdit: command must be an array of strings, got "eslint ." (string)'],
    [{ command: [] }, /command must be an array with at least one string/],
    [
      { command: ["x"], extensions: ["ts"] },
      'extensions[0] must be an ending with its dot, such as .ts, got "ts" (string)',
    ],
    [
      { command: ["x"], timeout: 0 },
      "timeout must be a number of seconds above 0, at most 3590, got 0 (number)",
    ],
  ])("%j are refused at once", (options, message) => {
    const { message: text } = thrownBy(() => lintAfterEdit(options as never));
    if (typeof message === "string") expect(text).toContain(message);
    else expect(text).toMatch(message);
  });
});

describe.each(PROVIDERS)("a run of %s", (provider) => {
  it("hears of the linter's complaint after the edit", async () => {
    const loud = await program("loud", 'echo "complaint"; exit 1');
    const script = { steps: [{ tools: [{ write: { path: "new.ts", content: "x" } }] }, { text: "done" }] };
    const { denied } = await runFake(
      place,
      provider,
      { PostToolUse: [{ hooks: [lintAfterEdit({ command: [loud] })] }] },
      script,
    );
    expect(denied).toEqual(["PostToolUse"]);
    expect(existsSync(join(cwd, "new.ts"))).toBe(true);
  });
});
