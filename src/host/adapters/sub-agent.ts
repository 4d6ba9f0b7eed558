// A spawned claude or codex as a tool of the host: under hooks of its own, and announced to the host's.

import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { SpawnOptions } from "../../spawn/options.ts";
import type { HookHost } from "../host-types.ts";
import { ToolFailure } from "../tool-failure.ts";
import type { HostTool } from "../tool-types.ts";

export interface SubAgentOptions {
  /** @default "Task" */
  readonly name?: string;
  readonly description?: string;
  /** `agent_type` of `SubagentStart` and `SubagentStop`. @default the token's provider */
  readonly agentType?: string;
  /** What `spawnAgent` takes, but for the prompt, which is the tool's input, and what the call says. */
  readonly spawn: Omit<SpawnOptions, "prompt" | "signal" | "cwd"> & { readonly cwd?: string };
}

export interface SubAgentResult {
  readonly runId: string;
  readonly finalText: string;
  /** A `SubagentStop` hook blocked: the agent is gone, so its reason is for whoever asked. */
  readonly blocked?: string;
}

const input = z.strictObject({ prompt: z.string().min(1) });

/** The prompt comes from the model, so it is no turn of a user: `UserPromptSubmit` of the host does not fire, the token's own hooks do. */
export function subAgentTool(host: HookHost, options: SubAgentOptions): HostTool {
  const { name = "Task", description = "Give a task to another coding agent", spawn } = options;
  const agentType = options.agentType ?? spawn.hooks.describe().provider;
  return {
    name,
    description,
    kind: "agent",
    input,
    async run({ prompt }: z.infer<typeof input>, { sessionId, cwd, signal }): Promise<SubAgentResult> {
      const { spawnAgent } = await import("../../spawn/spawn.ts");
      const agentId = randomUUID();
      const context = { sessionId, agentId, agentType, signal };
      const started = await host.runSubagentStart({ agent_type: agentType }, context);
      const asked = started.context === undefined ? prompt : `${prompt}\n\n${started.context}`;
      const stop = () => host.runSubagentStop({ agent_type: agentType }, { sessionId, agentId, agentType });
      const result = await spawnAgent({ ...spawn, cwd: spawn.cwd ?? cwd, prompt: asked, signal })
        .then((run) => run.result)
        .catch(async (error: unknown) => {
          await stop();
          throw error;
        });
      const stopped = await stop();
      if (result.outcome !== "success")
        throw new ToolFailure(`the agent ended as ${result.outcome}: ${result.reason}`, result);
      return {
        runId: result.runId,
        finalText: result.finalText ?? "",
        ...(stopped.decision === "deny" && stopped.reason !== undefined ? { blocked: stopped.reason } : {}),
      };
    },
  };
}
