// What a sub-agent is given of the call that starts it, and what is told of how it ended.

import { afterEach, beforeEach, expect, test } from "vitest";
import { describeForModel, type SubAgentOptions, subAgentTool } from "../../../src/host/index.ts";
import { addContext } from "../../../src/profile/answer.ts";
import { makePlace, type Place } from "../../spawn/support.ts";
import { compileFake, type Handler, type Play } from "../../testkit/support.ts";
import { on, play } from "../support.ts";

let place: Place;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

async function prepare(what: Partial<Play> = {}): Promise<SubAgentOptions> {
  const hooks = await compileFake(place, {
    provider: "codex",
    script: { steps: [{ text: "done" }] },
    ...what,
  });
  return { spawn: { hooks, baseEnv: place.env } };
}

test("it runs where the call is, with the host's context behind its prompt, and is announced under one id", async () => {
  const prompts: unknown[] = [];
  const note: Handler = ({ prompt, cwd }) => void prompts.push([prompt, cwd]);
  const options = await prepare({ handlers: { agent_prompt: note } });
  const heard: [string, string, unknown, unknown][] = [];
  const { host } = play({
    inProcess: [
      on("SubagentStart", (envelope) => {
        heard.push(["start", envelope.session_id, envelope.agent_id, envelope.agent_type]);
        return addContext(envelope, "be brief");
      }),
      on("SubagentStop", ({ session_id, agent_id, agent_type }) => {
        heard.push(["stop", session_id, agent_id, agent_type]);
        return undefined;
      }),
    ],
  });
  host.tools.register(subAgentTool(host, { ...options, agentType: "Explore" }));
  const outcome = await host.tools.invoke("Task", { prompt: "tidy" }, { cwd: place.cwd, sessionId: "s1" });
  expect(outcome).toMatchObject({ status: "ok", result: { finalText: "done" } });
  expect(outcome).not.toHaveProperty("result.blocked");
  expect(prompts).toEqual([["tidy\n\nbe brief", place.cwd]]);
  const [[, , id] = []] = heard;
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(heard).toEqual([
    ["start", "s1", id, "Explore"],
    ["stop", "s1", id, "Explore"],
  ]);
});

test("an agent that ends without success is a failure that keeps its result", async () => {
  const options = await prepare({ script: { steps: [{ text: "trying" }], sins: [{ "exit-code": 3 }] } });
  const { host } = play();
  host.tools.register(subAgentTool(host, options));
  const outcome = await host.tools.invoke("Task", { prompt: "tidy" }, { cwd: place.cwd });
  expect(outcome).toMatchObject({ status: "failed", error: { result: { runId: expect.any(String) } } });
  expect(describeForModel(outcome)).toMatch(/^Task failed: the agent ended as (?!success)\w+: /);
});

test("a call that is abandoned ends its agent", async () => {
  const controller = new AbortController();
  const abandon: Handler = () => void controller.abort(new Error("enough"));
  const options = await prepare({
    script: { steps: [{ text: "waiting", tools: [{ shell: "sleep 60" }] }, { text: "done" }] },
    handlers: { PreToolUse: abandon },
  });
  const { host } = play();
  host.tools.register(subAgentTool(host, options));
  const outcome = await host.tools.invoke(
    "Task",
    { prompt: "wait" },
    { cwd: place.cwd, signal: controller.signal },
  );
  expect(outcome).toMatchObject({ status: "failed" });
  expect(describeForModel(outcome)).not.toContain("success");
});

test("it is the tool Task of kind agent unless it is named", async () => {
  const { host } = play();
  const options = await prepare();
  expect(subAgentTool(host, options)).toMatchObject({ name: "Task", kind: "agent" });
  expect(subAgentTool(host, { ...options, name: "Helper", description: "helps" })).toMatchObject({
    name: "Helper",
    description: "helps",
    kind: "agent",
  });
});
