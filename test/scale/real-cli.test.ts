// The real CLIs as jobs of a queue, against a model on loopback: the guard that came with the job's declaration says no, and what it denied does
// not happen.

import { mkdirSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { resolveNativeBinary } from "../../conformance/binaries.ts";
import {
  BOTH,
  baseEnv,
  codexProviderConfig,
  makeSite,
  processesWith,
  readReceipts,
  shell,
  TOOL_PATH,
} from "../../conformance/support/harness.ts";
import { createAgentQueue, createAgentWorker } from "../../src/bullmq/index.ts";
import { startAnthropicServer } from "../../src/prove/anthropic-server.ts";
import { startOpenaiServer } from "../../src/prove/openai-server.ts";
import { scriptToken } from "../../src/prove/script.ts";
import { startRedis } from "./redis.ts";

test.each(BOTH)(
  "$mode in a worker is held to the declaration of its job",
  async ({ provider, model }) => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const site = makeSite();
    const guard = site.guard(
      'case "$(cat)" in *"rm -r"*) echo "nothing is removed here" >&2; exit 2 ;; esac',
    );
    const noteExit = site.guard('cat >/dev/null; echo told >>"$1/exits"', "exit.sh");
    mkdirSync(site.at("kept"));
    const token = scriptToken("queued");
    const steps = [
      { tools: [shell(`rm -r '${site.at("kept")}'`)] },
      { tools: [shell(`touch '${site.at("done")}'`)] },
    ];
    const server = await (provider === "claude" ? startAnthropicServer : startOpenaiServer)({
      scripts: { [token]: [...steps, { text: "finished" }] },
    });
    onTestFinished(() => server.close());

    const queue = await createAgentQueue({ connection: redis.url, name: "agents" });
    onTestFinished(() => queue.close());
    const problems: unknown[] = [];
    const worker = await createAgentWorker({
      connection: redis.url,
      name: "agents",
      allow: "any",
      concurrency: 1,
      binaries: { [provider]: resolveNativeBinary(provider) },
      compile: { prove: "off" },
      env: { ...baseEnv(site, provider, server.url), PATH: TOOL_PATH },
      run:
        provider === "claude"
          ? { allowedTools: ["Bash"] }
          : { sandbox: "danger-full-access", providerConfig: codexProviderConfig(server.url) },
      onProblem: (problem) => void problems.push(problem),
    });
    onTestFinished(() => worker.close());
    const declaration = await queue.publish({
      PreToolUse: [{ matcher: "kind:shell", hooks: [{ type: "command", command: guard }] }],
      agent_exit: [{ hooks: [{ type: "command", command: noteExit }] }],
    });
    const jobId = await queue.add({
      provider,
      model,
      declaration,
      cwd: site.project,
      prompt: `Go. ${token}`,
    });
    const { state, failedReason, outcome } = await queue.wait(jobId, { timeoutMs: 60_000, pollMs: 50 });

    expect({ state, failedReason, problems }).toEqual({
      state: "completed",
      failedReason: undefined,
      problems: [],
    });
    expect(outcome).toMatchObject({ outcome: "success", finalText: "finished" });
    const verdicts = readReceipts(site).flatMap((line) =>
      line.kind === "verdict" && line.event === "PreToolUse" ? [line.decision] : [],
    );
    expect(verdicts).toEqual(["deny", "none"]);
    expect([...server.toolResults().values()].join()).toContain("nothing is removed here");
    expect([site.has("kept"), site.has("done"), site.note("exits")]).toEqual([true, true, "told\n"]);
    expect(processesWith(site.root)).toEqual([]);
  },
  120_000,
);
