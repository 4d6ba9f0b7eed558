// Watches one started CLI: its lines become events of the run, its exit and its final messages events of the settle machine, whose
// effects it carries out. Decides nothing and fires no hooks.

import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "../json.ts";
import type { ProviderAdapter, StreamEvent, StreamParser, Wants } from "../render/provider.ts";
import type { ProviderChild } from "./child.ts";
import type { AgentEventBody } from "./events.ts";
import { createLineFramer } from "./frame.ts";
import type { Life } from "./life.ts";
import type { LineHub } from "./preflight-channel.ts";
import type { Usage } from "./result.ts";
import { askToStop, endTree, killChild, terminateChild } from "./stop.ts";
import type { ProviderHookEvent } from "./watch-provider-hooks.ts";

export interface SuperviseOptions {
  readonly child: ProviderChild;
  readonly adapter: ProviderAdapter;
  readonly life: Life;
  readonly marker: string;
  readonly lines: LineHub;
  readonly onEvent: (body: AgentEventBody) => void;
  /** What the provider says about our handlers; never shown. */
  readonly onProviderHook: (event: ProviderHookEvent) => void;
  /** Messages of the control channel; never shown. */
  readonly onControl: (payload: JsonObject) => void;
  /** The start of a line that was too long to be read. */
  readonly onSkipped: (start: string) => void;
  /** Of the stream; what supervision itself needs is always read. */
  readonly wants: Wants;
  /** @default 16 MiB */
  readonly maxLineBytes?: number | undefined;
  /** Diagnostics pass through it before they are shown. */
  readonly redact: (text: string) => string;
}

/** What the stream said about the run, so far. */
export interface StreamSummary {
  providerSessionId: string | undefined;
  finalText: string | undefined;
  turns: number | undefined;
  usage: Usage | undefined;
  costUsd: number | undefined;
}

export function superviseChild(options: SuperviseOptions): StreamSummary {
  const { child, adapter, life, marker, lines, onEvent, onProviderHook, onControl, onSkipped, redact } =
    options;
  const parser: StreamParser = adapter.createStreamParser(options.wants);
  const { skips } = parser;
  const summary: StreamSummary = { ...NOTHING_SAID };
  let lastOutputAt = performance.now();

  const take = (event: StreamEvent) => {
    switch (event.type) {
      case "control":
        onControl(event.payload);
        return;
      case "turn_started":
        life.send({ type: "turn_started" });
        return;
      case "provider_hook":
        onProviderHook(event);
        return;
      case "result":
        summary.finalText = event.text ?? summary.finalText;
        summary.turns = event.turns ?? summary.turns;
        // The last look while it surely lives: what it leaves behind is still below it.
        child.tree?.look();
        life.send({ type: "final_message", message: { status: event.status, reason: event.reason } });
        return;
      case "session":
        summary.providerSessionId ??= event.providerSessionId;
        break;
      case "message":
        if (event.subagent !== true) summary.finalText = event.text;
        break;
      case "usage": {
        const { type: _type, costUsd, ...usage } = event;
        summary.usage = usage;
        summary.costUsd = costUsd ?? summary.costUsd;
        break;
      }
      case "warning":
        onEvent({ ...event, message: redact(event.message) });
        return;
    }
    onEvent(event);
  };

  const framer = createLineFramer(
    {
      ...(skips === undefined ? {} : { skips }),
      onLine: (line) => {
        lines.emit(line);
        for (const event of parser.push(line)) take(event);
      },
      onOverflow: (line, start) => {
        parser.skip();
        onSkipped(start);
        // It may have been a final message, and have said otherwise.
        life.send({ type: "line_lost" });
        summary.finalText = undefined;
        onEvent({ type: "overflow", ...line });
      },
    },
    options.maxLineBytes,
  );
  /** The agent is gone and the pipe was seen empty: what still comes is not its own. */
  let isSealed = false;
  let lateBytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    lastOutputAt = performance.now();
    if (isSealed) lateBytes += chunk.length;
    else framer.push(chunk);
  });
  // While the consumer was waited for, the agent was not silent.
  child.stdout.on("resume", () => {
    lastOutputAt = performance.now();
  });
  child.stdout.on("error", () => {}); // the exit and the end of the stream say what there is to say
  let isTruncated = false;
  const seal = () => {
    if (isSealed) return;
    const rest = framer.end();
    if (rest !== "") for (const event of parser.push(rest)) take(event);
    for (const event of parser.end()) take(event);
    isTruncated = rest !== "" && !isWholeJson(rest);
    isSealed = true;
  };
  const endOutput = () => {
    seal();
    const message = `${lateBytes} bytes came after the exit, from a process that the agent had left behind; they were not read`;
    if (lateBytes > 0) take({ type: "warning", code: "late_output", message });
    life.send({ type: "output_ended", isTruncated });
  };
  child.stdout.once("close", endOutput);
  void child.exited.then((exit) => life.send({ type: "exited", exit }));

  life.attach({
    askToStop: () => askToStop(child, adapter),
    terminate: () => terminateChild(child),
    kill: () => killChild(child),
    closeInput: () => void (child.stdin.writable && child.stdin.end()),
    drain() {
      child.stdout.resume();
      void untilQuiet(child.stdout).then(seal);
    },
    giveUpOutput() {
      child.stdout.off("close", endOutput);
      const message = "a descendant kept the output open after the exit";
      take({ type: "warning", code: "pipe_held", message });
      endOutput();
    },
    silenceMs: () => (child.stdout.isPaused() ? undefined : performance.now() - lastOutputAt),
    endTree: () => endTree(child, marker).finally(() => child.stdout.destroy()),
  });
  life.send({ type: "spawned" });
  return summary;
}

export const NOTHING_SAID: Readonly<StreamSummary> = {
  providerSessionId: undefined,
  finalText: undefined,
  turns: undefined,
  usage: undefined,
  costUsd: undefined,
};

/** Turns of the event loop without data after which a pipe that is read is taken to be empty. */
const QUIET_TURNS = 3;

/** Resolves when the stream is at its end, or gave nothing for some turns of the event loop, each of which would have read it. */
async function untilQuiet(stream: Readable): Promise<void> {
  let hasData = true;
  const note = () => {
    hasData = true;
  };
  stream.on("data", note);
  for (let quiet = 0; quiet < QUIET_TURNS && !stream.closed; quiet = hasData ? 0 : quiet + 1) {
    hasData = false;
    await nextTurn();
  }
  stream.off("data", note);
}

function isWholeJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
