// Persistent guards of a host: one process a session, gone when that is closed, and no reason for a program to go on.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { compileHostHooks, type HostFault } from "../../src/host/index.ts";
import type { HookDeclaration } from "../../src/index.ts";
import { isAlive } from "../spawn/support.ts";
import { waitUntil } from "../watchdog/support.ts";
import { echo, play } from "./support.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), "bridle-host-persistent-")));
});
afterEach(async () => {
  const left = (await starts()).filter(isAlive);
  for (const pid of left) process.kill(pid, "SIGKILL");
  await rm(cwd, { recursive: true, force: true });
  expect(left).toEqual([]);
});

const starts = async () =>
  existsSync(join(cwd, "starts"))
    ? (await readFile(join(cwd, "starts"), "utf8")).trim().split("\n").map(Number)
    : [];

async function guard(body: string): Promise<HookDeclaration> {
  const path = join(cwd, "guard.mjs");
  await writeFile(
    path,
    `import { createInterface } from "node:readline";
     import { appendFileSync } from "node:fs";
     import { spawn } from "node:child_process";
     appendFileSync(${JSON.stringify(join(cwd, "starts"))}, process.pid + "\\n");
     const say = (word) => process.stdout.write(JSON.stringify(word) + "\\n");
     createInterface({ input: process.stdin }).on("line", (line) => { const call = JSON.parse(line); ${body} });\n`,
  );
  const command = [process.execPath, path];
  return { PreToolUse: [{ hooks: [{ type: "command", command, persistent: true }] }] };
}

test("is started once a session, in the directory of the host, and close ends it", async () => {
  const hooks = await compileHostHooks(
    await guard("say({ id: call.id, block: process.cwd() + ' ' + call.envelope.cwd });"),
    { cwd },
  );
  const elsewhere = join(cwd, "elsewhere");
  await mkdir(elsewhere);
  const { host, receipts } = play({ hooks });
  echo(host);
  for (const context of [{ cwd: elsewhere }, {}])
    expect(await host.tools.invoke("Echo", {}, context)).toMatchObject({
      status: "denied",
      reason: `${cwd} ${context.cwd ?? cwd}`,
    });
  expect(await starts()).toHaveLength(1);
  expect(receipts).toMatchObject([{ exit: "answered", status: "ok" }, { exit: "answered" }]);
  expect(host.describe()).toMatchObject([{ persistent: true }]);
  await host.tools.invoke("Echo", {}, { sessionId: "another" });
  expect(await starts()).toHaveLength(2);
  await host.runSessionEnd({ reason: "other" }, { sessionId: "another" });
  await host.close();
  expect((await starts()).filter(isAlive)).toEqual([]);
});

test("what it has left when it is closed is ended, and the host is told", async () => {
  const body =
    "spawn('/bin/sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref(); say({ id: call.id });";
  const faults: HostFault[] = [];
  const hooks = await compileHostHooks(await guard(body), { cwd });
  const { host } = play({ hooks, onFault: (fault) => void faults.push(fault) });
  echo(host);
  expect(await host.tools.invoke("Echo", {})).toMatchObject({ status: "ok" });
  await host.close();
  expect(faults).toEqual([
    { kind: "guard_leftovers", detail: "PreToolUse[0].hooks[0]: 1 process(es), now ended" },
  ]);
});

test("a program that does not close its host ends all the same, and the guard with it", async () => {
  const declaration = await guard("say({ id: call.id });");
  const program = join(cwd, "program.mjs");
  await writeFile(
    program,
    `const { compileHostHooks, createHookHost } = await import(${JSON.stringify(join(inject("dist"), "host", "index.js"))});
     const hooks = await compileHostHooks(${JSON.stringify(declaration)}, { cwd: ${JSON.stringify(cwd)} });
     const host = createHookHost({ hooks });
     host.tools.register({ name: "Echo", run: () => 1 });
     console.log(JSON.stringify(await Promise.all([1, 2].map(() => host.tools.invoke("Echo", {})))));`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 20_000 });
  expect(JSON.parse(stdout)).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  const [pid = 0] = await starts();
  await waitUntil(() => !isAlive(pid), "the end of the guard");
});
