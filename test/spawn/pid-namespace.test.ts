import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTimeOf } from "../../src/exec/sweep.ts";
import { exitInside, type ProviderChild, startChild } from "../../src/spawn/child.ts";
import { resolveContainment } from "../../src/spawn/containment.ts";
import { RUN_MARKER } from "../../src/spawn/environment.ts";
import { type NamespaceRecipe, probe, probePidNamespace } from "../../src/spawn/namespace-recipe.ts";
import { endNamespace, findNamespace, membersOf } from "../../src/spawn/pid-namespace.ts";
import { emptyNamespace, endTree, kill } from "../../src/spawn/stop.ts";
import { isAlive } from "./support.ts";

const linkOf = (file: string) => {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return ""; // closed meanwhile
  }
};

const found = await probePidNamespace();
const missing = typeof found === "string" ? found : undefined;

describe("the probe", () => {
  test("is made once", () => {
    expect(probePidNamespace()).toBe(probePidNamespace());
  });

  test("names a platform that has none", async () => {
    expect(await probe({ platform: "darwin" })).toBe("darwin has no PID namespaces");
  });

  describe.skipIf(process.platform !== "linux")("on Linux", () => {
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "bridle-unshare-"));
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));
    const write = async (name: string, lines: string) => {
      await writeFile(join(folder, name), `#!/bin/sh\n${lines}\n`);
      await chmod(join(folder, name), 0o755);
    };

    test("says that unshare is missing", async () => {
      expect(await probe({ folders: [folder] })).toMatch(/no unshare/);
    });

    test("says what unshare says where it is not allowed", async () => {
      await write("unshare", "echo 'unshare failed: Operation not permitted' >&2; exit 1");
      expect(await probe({ folders: [folder] })).toBe("unshare failed: Operation not permitted");
    });

    test("does not believe a namespace in which what is the CLI's is read by another", async () => {
      if (missing !== undefined) return;
      await write("unshare", 'head -c 3 >/dev/null; exec unshare "$@"');
      expect(await probe({ folders: [folder] })).toBe("exit 1");
    });

    test("does not believe an unshare that makes no namespace", async () => {
      await write("unshare", 'while [ "$1" != /bin/sh ]; do shift; done; "$@"; exit $?');
      expect(await probe({ folders: [folder], waitMs: 200 })).toMatch(/\/proc does not show it/);
    });
  });
});

describe("containment", () => {
  const recipe: NamespaceRecipe = { prefix: ["x"], needsUserNamespace: false, endsWithSupervisor: true };

  test("takes the namespace where there is one, unless the sweep was asked for", async () => {
    const host = async () => recipe;
    expect(await resolveContainment(undefined, host)).toBe(recipe);
    expect(await resolveContainment("auto", host)).toBe(recipe);
    expect(await resolveContainment("pid-namespace", host)).toBe(recipe);
    expect(await resolveContainment("sweep", host)).toBeUndefined();
  });

  test("refuses a namespace that was asked for where there is none, and says why", async () => {
    const host = async () => "not permitted";
    expect(await resolveContainment("auto", host)).toBeUndefined();
    await expect(resolveContainment("pid-namespace", host)).rejects.toMatchObject({
      issues: [
        {
          code: "platform_unsupported",
          path: "containment",
          message: expect.stringContaining("not permitted"),
        },
      ],
    });
  });
});

describe("an exit as the namespace's shell tells it", () => {
  test.each([
    [0, 0, null],
    [1, 1, null],
    [129, 129, null],
    [130, 130, null],
    [143, 143, null],
    [134, null, "SIGABRT"],
    [137, null, "SIGKILL"],
    [139, null, "SIGSEGV"],
  ])("%d", (told, code, signal) => {
    expect(exitInside(told, null)).toEqual({ code, signal });
  });

  test("of what holds the namespace stays a signal", () => {
    expect(exitInside(null, "SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
  });
});

describe.skipIf(missing !== undefined)(
  `a namespace${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    const children: ProviderChild[] = [];
    afterEach(async () => {
      for (const child of children.splice(0)) await endTree(child, "no-such-marker");
    });
    const startIn = async (script: string, recipe = found as NamespaceRecipe) => {
      const env = { PATH: process.env.PATH ?? "" };
      const child = await startChild({ program: "/bin/sh", argv: ["-c", script], env, cwd: "/", recipe });
      children.push(child);
      return child;
    };
    const namespaceOf = ({ namespace }: ProviderChild) => {
      if (namespace === undefined) throw new Error("no namespace");
      return namespace;
    };

    test("holds the CLI, its init and nothing of what is outside", async () => {
      const child = await startIn("read line");
      const { init, cli, name } = namespaceOf(child);
      expect((await membersOf(name)).sort()).toEqual([init.pid, cli.pid].sort());
      expect(child.cliPid).toBe(cli.pid);
      expect([child.pid, init.pid, cli.pid].map(isAlive)).toEqual([true, true, true]);
    });

    test("passes stdin, stdout, stderr and the exit code through", async () => {
      const child = await startIn('read line; echo "out $line"; echo err >&2; exit 42');
      child.stdin.write("hello\n");
      const [chunk] = await once(child.stdout, "data");
      expect(String(chunk)).toBe("out hello\n");
      expect(await child.exited).toEqual({ code: 42, signal: null });
      expect(child.stderrTail()).toBe("err\n");
    });

    test("is empty once it is ended, and its name no other's before it is released", async () => {
      const child = await startIn("setsid sleep 1000 & sleep 1000");
      const namespace = namespaceOf(child);
      expect(await endNamespace(namespace, { kill })).toEqual([]);
      expect(await membersOf(namespace.name)).toEqual([]);
      const holds = () => readdirSync("/proc/self/fd").some((file) => linkOf(file) === namespace.name);
      expect(holds()).toBe(true);
      namespace.release();
      namespace.release();
      expect(holds()).toBe(false);
    });

    test("with a member that stays is told as such", async () => {
      const { init, cli, ...namespace } = namespaceOf(await startIn("read line"));
      const left = await endNamespace({ ...namespace, init, cli }, { kill: () => {}, deadlineMs: 50 });
      expect(left.sort()).toEqual([init.pid, cli.pid].sort());
    });

    test("is proven only when it was seen empty and nothing outside carries the marker", async () => {
      const marker = randomUUID();
      const child = await startIn("read line");
      const namespace = namespaceOf(child);
      const outside = spawn("sleep", ["1000"], {
        stdio: "ignore",
        env: { PATH: process.env.PATH, [RUN_MARKER]: marker },
      });
      await once(outside, "spawn");
      const spared = { kill: () => {}, deadlineMs: 50 };
      const { init, cli } = namespace;
      const first = await emptyNamespace(namespace, marker, spared);
      expect(first.state).toBe("unproven");
      expect([...first.survivors].sort()).toEqual([init.pid, cli.pid, outside.pid].sort());
      // Empty, but not alone.
      await endNamespace(namespace, { kill });
      expect(await emptyNamespace(namespace, marker, spared)).toEqual({
        state: "unproven",
        method: "pidns",
        survivors: [outside.pid],
      });
      expect(await emptyNamespace(namespace, marker)).toEqual({
        state: "proven",
        method: "pidns",
        survivors: [],
      });
      expect(isAlive(outside.pid as number)).toBe(false);
    });

    test("is not signalled when the first process is another by now", async () => {
      const { init, ...namespace } = namespaceOf(await startIn("read line"));
      const sent: number[] = [];
      const other = { ...namespace, init: { ...init, startTime: "1" } };
      await endNamespace(other, { kill: (pid) => void sent.push(pid), deadlineMs: 20 });
      expect(sent).toEqual([]);
    });

    test("ends with what holds it", async () => {
      const child = await startIn("setsid sleep 1000 & sleep 1000");
      const { name } = namespaceOf(child);
      process.kill(child.pid, "SIGKILL");
      expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
      expect(await endTree(child, "no-such-marker")).toEqual({
        state: "proven",
        method: "pidns",
        survivors: [],
      });
      expect(await membersOf(name)).toEqual([]);
    });

    test("in a user namespace works too, also below root", async () => {
      const recipe = await probe({ needsUserNamespace: true });
      if (typeof recipe === "string") return; // this host forbids user namespaces
      expect(recipe).toMatchObject({ needsUserNamespace: true });
      const child = await startIn("read line; exit 3", recipe);
      expect(await membersOf(namespaceOf(child).name)).toHaveLength(2);
      child.stdin.end("x\n");
      expect(await child.exited).toEqual({ code: 3, signal: null });
    });

    test("is not seen below a process that has none", async () => {
      const child = spawn("/bin/sh", ["-c", "sh -c 'read line' ; exit $?"], {
        stdio: ["pipe", "ignore", "ignore"],
      });
      await once(child, "spawn");
      expect(startTimeOf(child.pid as number)).toBeDefined();
      expect(findNamespace(child.pid as number)).toBeUndefined();
      child.stdin.end();
      await once(child, "exit");
    });
  },
);
