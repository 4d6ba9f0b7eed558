// bullmq is an optional peer: nothing but the queue needs it, and the queue and the command say what is missing.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, inject, test } from "vitest";

const DIST = inject("dist");

/** Makes a package that cannot be found. */
const WITHOUT = `data:text/javascript,${encodeURIComponent(`
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`export function resolve(specifier, context, next) {
  if (specifier !== "bullmq") return next(specifier, context);
  throw Object.assign(new Error("Cannot find package 'bullmq'"), { code: "ERR_MODULE_NOT_FOUND" });
}\`));
`)}`;

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", NO_COLOR: "1" },
  });
  return { status, stdout, stderr };
}

test("bridle worker without bullmq names it and how to install it", () => {
  const words = ["worker", "--redis", "redis://127.0.0.1:1", "--queue", "q", "--allow-any"];
  const { status, stderr } = run("--import", WITHOUT, join(DIST, "cli", "main.js"), ...words);
  expect([status, stderr]).toEqual([
    78,
    "bridle: queue_unavailable bullmq: it is not installed: Cannot find package 'bullmq' (npm install bullmq@5)\n",
  ]);
});

test.each([
  [["--queue", "q", "--allow-any"], "option_invalid --redis: is missing"],
  [["--redis", "redis://h", "--queue", "q"], "nothing says which declarations it runs"],
  [["--redis", "redis://h", "--queue", "q", "--allow-any", "--allow", "0"], "more than one of the ways"],
  [["--redis", "redis://h", "--queue", "q", "--allow", "0"], "option_invalid allow: expected { digests"],
  [["--redis", "redis://h", "--queue", "a:b", "--allow-any"], "option_invalid name"],
  [
    ["--redis", "http://secret@h", "--queue", "q", "--allow-any"],
    "option_invalid connection: unknown protocol http:",
  ],
])("bridle worker %j is refused before Redis is asked", (words, message) => {
  const { status, stderr } = run(join(DIST, "cli", "main.js"), "worker", ...words);
  expect(status).toBe(78);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain("secret");
});

test("the library is imported, and the other commands run, without it", () => {
  const program = `await import(${JSON.stringify(join(DIST, "index.js"))}); await import(${JSON.stringify(join(DIST, "bullmq", "index.js"))});`;
  expect(run("--import", WITHOUT, "--input-type=module", "-e", program)).toMatchObject({
    status: 0,
    stderr: "",
  });
});
