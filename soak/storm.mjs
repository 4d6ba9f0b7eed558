// @ts-check
// Very many hook calls at once on one run directory, in both handler forms by turns, each of which must get its own answer and no other.
// Measures; the caller judges.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { settle } from "./measure.mjs";

/**
 * @typedef {object} Library
 * @property {typeof import("../src/broker/broker.ts").startBroker} startBroker
 * @property {typeof import("../src/broker/run-directory.ts").createRunDirectory} createRunDirectory
 * @property {typeof import("../src/render/handler-form.ts").handlerCommand} handlerCommand
 *
 * @typedef {object} Storm
 * @property {number} calls that ended
 * @property {readonly string[]} wrong calls that got another answer than their own
 * @property {readonly string[]} faults of the broker
 * @property {{ requests: number, answered: number }} counts of the broker
 * @property {readonly string[]} left claims, bodies, FIFOs and processes that should be gone
 */

/** Shells that stand in for /bin/sh: the outer one, and in the other form the one that it starts. */
export const STORM_SHELLS = [
  { name: "dash", program: "dash", flags: [] },
  { name: "bash --posix", program: "bash", flags: ["--posix"] },
  { name: "busybox sh", program: "busybox", flags: ["sh"] },
].map(({ name, program, flags }) => {
  const path = ["/usr/bin", "/bin"].map((folder) => join(folder, program)).find((file) => existsSync(file));
  return { name, argv: path === undefined ? undefined : [path, ...flags] };
});

/** What the nth call is told: admitted or denied, short or through body files. @param {number} nth */
function answerFor(nth) {
  const fill = nth % 7 === 0 ? "é".repeat(2_000) : "";
  return nth % 2 === 0
    ? { code: /** @type {const} */ (0), stdout: `{"n":${nth},"fill":"${fill}"}`, stderr: "" }
    : { code: /** @type {const} */ (2), stdout: `{"n":${nth}}`, stderr: `not ${nth}${fill}` };
}

/** @param {readonly string[]} argv @param {string} envelope */
async function call([program = "", ...words], envelope) {
  const child = spawn(program, words, { env: { PATH: "/usr/bin:/bin", SHLVL: "2" }, stdio: "pipe" });
  const said = { stdout: "", stderr: "" };
  for (const name of /** @type {const} */ (["stdout", "stderr"]))
    child[name].setEncoding("utf8").on("data", (text) => {
      said[name] += text;
    });
  child.stdin.on("error", () => {}); // a shim may end before it has read everything: its answer is then a wrong one
  child.stdin.end(envelope);
  const [code] = await once(child, "close");
  return { code, ...said };
}

/**
 * @param {Library} library
 * @param {{ folder: string, argv: readonly string[], requests: number, writers: number }} options `folder`: empty, and not below the
 *   temporary folder; `argv`: of the shell
 * @returns {Promise<Storm>}
 */
export async function storm(
  { startBroker, createRunDirectory, handlerCommand },
  { folder, argv, requests, writers },
) {
  const [cwd, parent] = [join(folder, "project"), join(folder, "state")];
  for (const path of [cwd, parent]) mkdirSync(path, { mode: 0o700 });
  const runDirectory = await createRunDirectory({ runId: "storm", cwd, forbidden: [], parent });
  /** @type {string[]} */
  const faults = [];
  const broker = await startBroker({
    runDirectory,
    events: ["PreToolUse"],
    answer: async (_event, raw) => answerFor(JSON.parse(String(raw)).n),
    deadlineMs: () => 300_000,
    isGate: () => true,
    onFault: ({ kind, detail }) => faults.push(`${kind}: ${detail}`),
  });
  try {
    const { shimPath, path } = runDirectory;
    const commands = [false, true].map((startsShell) =>
      handlerCommand({ shimPath, event: "PreToolUse", shimSeconds: 600, gate: true, startsShell }).replace(
        /^\/bin\/sh/,
        argv.join(" "),
      ),
    );
    /** @type {string[]} */
    const wrong = [];
    let next = 0;
    let ended = 0;
    const write = async () => {
      while (next < requests) {
        const nth = next++;
        // Two of one form, two of the other: each with admissions and denials.
        const command = commands[(nth >> 1) % 2] ?? "";
        const envelope = `${JSON.stringify({ n: nth, fill: "x".repeat(nth % 3_000) })}\n`;
        const got = await call([...argv, "-c", command], envelope);
        const { code, stdout, stderr } = answerFor(nth);
        const wanted = { code, stdout: `${stdout}\n`, stderr: stderr === "" ? "" : `${stderr}\n` };
        if (JSON.stringify(got) !== JSON.stringify(wanted))
          wrong.push(`call ${nth}: ${JSON.stringify(got).slice(0, 300)}`);
        ended += 1;
      }
    };
    await Promise.all(Array.from({ length: writers }, write));
    const left = await settle(
      () => leftIn(path),
      (names) => names.length === 0,
    );
    const { requests: asked, answered } = broker.counts;
    return { calls: ended, wrong, faults, counts: { requests: asked, answered }, left };
  } finally {
    await broker.close();
    await runDirectory.remove();
  }
}

/** @param {string} path of a run directory @returns {string[]} */
function leftIn(path) {
  const files = ["e", "b", "r"].flatMap((folder) =>
    readdirSync(join(path, folder)).flatMap((name) =>
      folder === "r" && /^\d$/.test(name) ? [] : [`${folder}/${name}`],
    ),
  );
  const holders = readdirSync("/proc").filter(
    (pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid && holds(pid, path),
  );
  return [...files, ...holders.map((pid) => `process ${pid}`)];
}

/** @param {string} pid @param {string} path */
function holds(pid, path) {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)).startsWith(path));
  } catch {
    return false; // ended meanwhile
  }
}

/** What is wrong with it; empty when all is well. @param {Storm} storm @param {number} requests @returns {string[]} */
export function stormViolations({ calls, wrong, faults, counts, left }, requests) {
  const { requests: asked, answered } = counts;
  return [
    ...(calls === requests && asked === requests && answered === requests
      ? []
      : [`of ${requests} calls ${asked} asked, ${answered} were answered and ${calls} ended`]),
    ...wrong.map((what) => `wrong answer: ${what}`),
    ...faults.map((what) => `fault: ${what}`),
    ...left.map((what) => `left behind: ${what}`),
  ];
}
