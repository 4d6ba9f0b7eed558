// Twenty real codex at work on one file of tasks, against a model on loopback: three of them try what a guard denies.

import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { fanOut, fanOutFile, readEndings, readFanOut, type TaskEnding } from "../src/fanout/index.ts";
import { createReport } from "../src/index.ts";
import { startAnthropicServer } from "../src/prove/anthropic-server.ts";
import { startOpenaiServer } from "../src/prove/openai-server.ts";
import { type ModelScript, scriptToken } from "../src/prove/script.ts";
import { resolveNativeBinary } from "./binaries.ts";
import {
  BOTH,
  baseEnv,
  CODEX,
  codexProviderConfig,
  makeSite,
  processesWith,
  readReceipts,
  shell,
  TOOL_PATH,
} from "./support/harness.ts";

const TASKS = 20;
/** Those whose model wants to remove a file. */
const DENIED = [3, 9, 17];

it("20 codex runs: each outcome and each denial is told, and what was denied did not happen", async () => {
  const site = makeSite();
  const guard = site.guard('case "$(cat)" in *"rm "*) echo "nothing is removed here" >&2; exit 2 ;; esac');
  const scripts: Record<string, ModelScript> = {};
  const lines = Array.from({ length: TASKS }, (_, nth) => {
    const token = scriptToken(`task-${nth}`);
    const wanted = DENIED.includes(nth)
      ? `rm '${site.at(`kept-${nth}`)}'`
      : `touch '${site.at(`done-${nth}`)}'`;
    writeFileSync(site.at(`kept-${nth}`), "");
    scripts[token] = [{ tools: [shell(wanted)] }, { text: `finished ${nth}` }];
    return { id: `task-${nth}`, subject: token };
  });
  const file = join(site.root, "tasks.jsonl");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const server = await startOpenaiServer({ scripts });
  onTestFinished(() => server.close());

  const endings: TaskEnding[] = [];
  const fan = fanOutFile(file, {
    cwd: site.project,
    provider: "codex",
    binary: resolveNativeBinary("codex"),
    prove: "off",
    hooks: { PreToolUse: [{ matcher: "kind:shell", hooks: [{ type: "command", command: guard }] }] },
    prompt: "Please do {{subject}}.",
    model: CODEX.model,
    concurrency: 4,
    spawn: {
      baseEnv: { ...baseEnv(site, "codex", server.url), PATH: TOOL_PATH },
      sandbox: "danger-full-access",
      providerConfig: codexProviderConfig(server.url),
    },
  });
  for await (const ending of fan) endings.push(ending);

  expect(endings.map(({ id }) => id).sort()).toEqual(lines.map(({ id }) => id).sort());
  expect(endings.filter(({ outcome }) => outcome !== "success")).toEqual([]);
  const [{ fanOutId } = { fanOutId: "" }] = endings;
  const byIndex = await readEndings(fanOutId, { stateDir: site.state });
  expect(byIndex.map(({ finalText }) => finalText)).toEqual(lines.map((_, nth) => `finished ${nth}`));
  expect(byIndex.filter(({ denied = 0 }) => denied > 0).map(({ index, denied }) => [index, denied])).toEqual(
    DENIED.map((nth) => [nth, 1]),
  );
  // What the disk, the model and the receipts say.
  for (let nth = 0; nth < TASKS; nth++)
    expect([nth, site.has(`kept-${nth}`), site.has(`done-${nth}`)]).toEqual([
      nth,
      true,
      !DENIED.includes(nth),
    ]);
  const told = [...server.toolResults().values()].filter((text) => text.includes("nothing is removed here"));
  expect(told).toHaveLength(DENIED.length);
  const record = await readFanOut(fanOutId, { stateDir: site.state });
  const deniedRuns = DENIED.map((nth) => record.tasks[nth]?.attempts[0]?.runId);
  const denials = readReceipts(site).filter((line) => line.kind === "verdict" && line.decision === "deny");
  expect(denials.map(({ run_id }) => run_id).sort()).toEqual([...deniedRuns].sort());
  expect(record.endedAt).toEqual(expect.any(String));
  // What the page of it shows: those three, with the guard's words, and receipts that are as they were written.
  const { of, html } = await createReport(fanOutId, { stateDir: site.state });
  expect(of).toBe("fan_out");
  const shown = html.slice(html.indexOf('id="denied"'), html.indexOf('id="tasks"'));
  expect([...shown.matchAll(/>(task-\d+)<\/a>/g)].map(([, id]) => id)).toEqual(
    DENIED.map((nth) => `task-${nth}`),
  );
  expect(shown.match(/nothing is removed here/g)).toHaveLength(DENIED.length);
  expect(html.match(/data-task="task-\d+"/g)).toHaveLength(TASKS);
  expect(html.match(/receipts <span class="t-good">intact/g)).toHaveLength(TASKS);
  expect(processesWith(site.root)).toEqual([]);
  expect(readdirSync(join(site.state, "sessions"))).toEqual([]);
}, 120_000);

it.each(BOTH)(
  "$mode: a run that fails in passing is gone on with in its session, and the session is forgotten",
  async (column) => {
    const { provider, model } = column;
    const site = makeSite();
    const token = scriptToken("passing");
    const first = `touch '${site.at("first")}'`;
    const script: ModelScript = [
      { tools: [shell(first)] },
      { text: "never said", fault: { kind: "status", status: 529, times: 1 } },
    ];
    const server = await (provider === "claude" ? startAnthropicServer : startOpenaiServer)({
      scripts: { [token]: script },
    });
    onTestFinished(() => server.close());
    const started: string[] = [];
    const fan = fanOut([{ prompt: `Begin. ${token}` }], {
      cwd: site.project,
      provider,
      binary: resolveNativeBinary(provider),
      prove: "off",
      hooks: { PreToolUse: [{ hooks: [{ type: "command", command: site.guard("exit 0") }] }] },
      model,
      backoff: { baseMs: 1 },
      onProgress: (progress) => {
        if (progress.type === "event" && progress.event.type === "session")
          started.push(progress.event.providerSessionId);
      },
      spawn: {
        baseEnv: baseEnv(site, provider, server.url),
        ...(provider === "claude"
          ? { allowedTools: ["Bash"], env: { CLAUDE_CODE_MAX_RETRIES: "0" } }
          : { sandbox: "danger-full-access" as const, providerConfig: codexProviderConfig(server.url) }),
      },
    });
    const endings: TaskEnding[] = [];
    for await (const ending of fan) endings.push(ending);
    expect(endings).toMatchObject([{ outcome: "success", attempts: 2 }]);
    expect(started).toHaveLength(2);
    expect(new Set(started).size).toBe(1);
    expect(site.has("first")).toBe(true);
    // The model is told again of the call that the first run had made.
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain(site.at("first"));
    expect(server.userTexts().join("\n")).toContain("Go on where you stopped");
    expect(readdirSync(join(site.state, "sessions"))).toEqual([]);
  },
);
