// What a started process prints, and what others print into its pipe once it is gone.

import { afterEach, expect, it } from "vitest";
import { adapterFor } from "../../src/render/registry.ts";
import { type ProviderChild, startChild } from "../../src/spawn/child.ts";
import { resolveDeadlines } from "../../src/spawn/deadlines.ts";
import type { AgentEventBody } from "../../src/spawn/events.ts";
import { createLife } from "../../src/spawn/life.ts";
import { createLineHub } from "../../src/spawn/preflight-channel.ts";
import type { RunResult } from "../../src/spawn/result.ts";
import type { Ending } from "../../src/spawn/settle-machine.ts";
import { endTree } from "../../src/spawn/stop.ts";
import { superviseChild } from "../../src/spawn/supervise.ts";

const children: ProviderChild[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await endTree(child, "no-such-marker");
});

const RESULT = JSON.stringify({
  type: "result",
  subtype: "success",
  is_error: false,
  result: "done",
  num_turns: 1,
});

/** Supervises a shell script that prints as claude does, to its end. `$RESULT` is a good final message. */
async function supervise(script: string, { isPaused = false } = {}) {
  const child = await startChild({
    program: "/bin/sh",
    argv: ["-c", script],
    env: { PATH: "/usr/bin:/bin", RESULT },
    cwd: "/",
  });
  children.push(child);
  const events: AgentEventBody[] = [];
  let ending: Ending | undefined;
  const life = createLife(resolveDeadlines({ drainMs: 5_000 }), {
    close: async () => ({ isPromptDenied: false, faults: [], doubts: [] }),
    finish: async (ended) => {
      ending = ended;
      return {} as RunResult;
    },
  });
  superviseChild({
    child,
    adapter: adapterFor("claude"),
    life,
    marker: "no-such-marker",
    lines: createLineHub(),
    onEvent: (event) => events.push(event),
    onProviderHook: () => {},
    onControl: () => {},
    wants: () => true,
    onSkipped: () => {},
    redact: (text) => text,
  });
  if (isPaused) child.stdout.pause();
  life.send({ type: "attested" });
  await life.result;
  const codes = events.flatMap((event) => (event.type === "warning" ? [event.code] : []));
  return { ...ending?.settlement, codes };
}

it("what the process printed just before its exit is read, however much it is", async () => {
  const script = `head -c 300000 /dev/zero | tr '\\0' x; echo; printf '%s\\n' "$RESULT"`;
  expect(await supervise(script)).toMatchObject({ outcome: "success", codes: [] });
});

it("what still waits in the pipe at the exit, because the consumer was slow, is read", async () => {
  const script = `head -c 50000 /dev/zero | tr '\\0' x; echo; printf '%s\\n' "$RESULT"`;
  expect(await supervise(script, { isPaused: true })).toMatchObject({ outcome: "success", codes: [] });
});

it("a final message from a process that was left behind is none", async () => {
  const script = `(sleep 1; printf '%s\\n' "$RESULT") & exit 0`;
  expect(await supervise(script)).toMatchObject({ outcome: "incomplete", codes: ["late_output"] });
});

it("a process that was left behind cannot take a final message back, nor finish a line that was cut", async () => {
  const failed = `printf '%s\\n' "$RESULT"; (sleep 1; echo '{"type":"result","subtype":"error","is_error":true}') & exit 0`;
  expect(await supervise(failed)).toMatchObject({ outcome: "success", codes: ["late_output"] });
  const cut = `printf '%s' '{"type":'; (sleep 1; echo '"x"}') & exit 0`;
  expect(await supervise(cut)).toMatchObject({ outcome: "incomplete", reason: "output_truncated" });
});

it("work behind a final message makes it none, and the next one counts", async () => {
  const word = `echo '{"type":"assistant","message":{"content":[{"type":"text","text":"more"}]}}'`;
  const first = `printf '%s\\n' "$RESULT"; ${word}`;
  expect(await supervise(first)).toMatchObject({ outcome: "incomplete" });
  expect(await supervise(`${first}; printf '%s\\n' "$RESULT"`)).toMatchObject({ outcome: "success" });
  const subagent = word.replace('"assistant",', '"assistant","parent_tool_use_id":"t",');
  expect(await supervise(`printf '%s\\n' "$RESULT"; ${subagent}`)).toMatchObject({ outcome: "success" });
});
