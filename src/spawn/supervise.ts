// Watches one started CLI to its end: lines to events, deadlines, the one cause of a stop, drain, sweep, facts. Decides nothing
// about outcomes (settle.ts) and fires no hooks.

import { setTimeout as delay } from "node:timers/promises";
import type { ProviderAdapter, StreamEvent, StreamParser } from "../render/provider.ts";
import type { ChildExit, ProviderChild } from "./child.ts";
import type { AgentEventBody } from "./events.ts";
import { createLineFramer } from "./frame.ts";
import type { ResolvedDeadlines } from "./options.ts";
import type { LineHub } from "./preflight-channel.ts";
import type { Extinction, Usage } from "./result.ts";
import type { RunFacts, StopCause } from "./settle.ts";
import { askToStop, endTree, killChild, stopChild } from "./stop.ts";
import type { ProviderHookEvent } from "./watch-provider-hooks.ts";

export interface SuperviseOptions {
  readonly child: ProviderChild;
  readonly adapter: ProviderAdapter;
  readonly deadlines: ResolvedDeadlines;
  readonly marker: string;
  readonly lines: LineHub;
  readonly onEvent: (body: AgentEventBody) => void;
  /** What the provider says about our handlers; never shown. */
  readonly onProviderHook: (event: ProviderHookEvent) => void;
  /** @default 16 MiB */
  readonly maxLineBytes?: number | undefined;
  /** Diagnostics pass through it before they are shown. */
  readonly redact: (text: string) => string;
}

/** What the stream said about the run, so far. */
export interface StreamSummary {
  providerSessionId: string | undefined;
  finalMessage: RunFacts["finalMessage"];
  finalText: string | undefined;
  turns: number | undefined;
  usage: Usage | undefined;
  costUsd: number | undefined;
}

export interface Ended {
  readonly exit: ChildExit;
  readonly extinction: Extinction;
  readonly isTruncated: boolean;
  readonly stopCause: StopCause | undefined;
}

export interface Supervision {
  readonly summary: StreamSummary;
  /** Ends the run; only the first cause counts. */
  end(cause: StopCause): void;
  readonly stopCause: StopCause | undefined;
  interrupt(): void;
  /** The prompt was handed over: from here silence counts. */
  startClock(): void;
  /** Resolves when the process is gone, its output read and its tree swept. Never rejects. */
  readonly ended: Promise<Ended>;
}

export function superviseChild(options: SuperviseOptions): Supervision {
  const { child, adapter, deadlines, marker, lines, onEvent, onProviderHook, redact } = options;
  const parser: StreamParser = adapter.createStreamParser();
  const summary: StreamSummary = {
    providerSessionId: undefined,
    finalMessage: undefined,
    finalText: undefined,
    turns: undefined,
    usage: undefined,
    costUsd: undefined,
  };
  let stopCause: StopCause | undefined;
  let hasExited = false;
  let isTruncated = false;
  let isInterruptAsked = false;
  let lastOutputAt = performance.now();
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number | undefined, run: () => void) => {
    if (ms !== undefined) timers.push(setTimeout(run, ms));
  };

  const end = (cause: StopCause) => {
    if (stopCause !== undefined) return;
    if (hasExited) {
      // Nothing is left to stop, and the pid may be another's by now; a fault of the guard path still counts.
      if (cause.kind === "unenforced") stopCause = cause;
      return;
    }
    stopCause = cause;
    // An agent whose guard is not in force gets no grace: another tool could run in it.
    if (cause.kind === "unenforced") killChild(child);
    else void stopChild(child, adapter, deadlines.stopMs);
  };

  const take = (event: StreamEvent) => {
    switch (event.type) {
      case "control":
        return;
      case "provider_hook":
        onProviderHook(event);
        return;
      case "result":
        summary.finalMessage = { status: event.status, reason: event.reason };
        summary.finalText = event.text ?? summary.finalText;
        summary.turns = event.turns ?? summary.turns;
        // The last look while it surely lives: what it leaves behind is still below it.
        child.tree?.look();
        // The provider waits for another prompt on an open stdin; nothing more will come.
        if (child.stdin.writable) child.stdin.end();
        after(deadlines.lingerMs, () => end({ kind: "lingered" }));
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
      onLine: (line) => {
        lines.emit(line);
        for (const event of parser.push(line)) take(event);
      },
      onOverflow: (line) => {
        parser.skip();
        // It may have been a final message, and have said otherwise.
        summary.finalMessage = undefined;
        summary.finalText = undefined;
        onEvent({ type: "overflow", ...line });
      },
    },
    options.maxLineBytes,
  );
  child.stdout.on("data", (chunk: Buffer) => {
    lastOutputAt = performance.now();
    framer.push(chunk);
  });
  child.stdout.on("error", () => {}); // the exit and the end of the stream say what there is to say
  const outputEnded = new Promise<void>((resolve) => child.stdout.once("close", resolve));

  const watchIdle = (idleMs: number) => {
    const silence = performance.now() - lastOutputAt;
    if (silence >= idleMs && !child.stdout.isPaused()) end({ kind: "idle" });
    else after(Math.max(10, idleMs - silence), () => watchIdle(idleMs));
  };

  const ended = (async (): Promise<Ended> => {
    const exit = await child.exited;
    hasExited = true;
    const drained = new AbortController();
    const drain = delay(deadlines.drainMs, "held", { signal: drained.signal }).catch(() => "closed");
    child.stdout.resume();
    const how = await Promise.race([outputEnded.then(() => "closed"), drain]);
    drained.abort();
    if (how === "held")
      take({
        type: "warning",
        code: "pipe_held",
        message: "a descendant kept the output open after the exit",
      });
    for (const timer of timers) clearTimeout(timer);
    const rest = framer.end();
    if (rest !== "") {
      for (const event of parser.push(rest)) take(event);
      isTruncated = !isWholeJson(rest);
    }
    for (const event of parser.end()) take(event);
    // codex leaves without a final message when it is interrupted; claude says so in one.
    if (isInterruptAsked && summary.finalMessage === undefined)
      stopCause ??= { kind: "interrupted", reason: "interrupt" };
    for (const timer of timers) clearTimeout(timer);
    const extinction = await endTree(child, marker);
    child.stdout.destroy();
    return { exit, extinction, isTruncated, stopCause };
  })();

  return {
    summary,
    end,
    get stopCause() {
      return stopCause;
    },
    interrupt() {
      if (stopCause !== undefined || hasExited) return;
      isInterruptAsked = true;
      askToStop(child, adapter);
      after(deadlines.stopMs, () => end({ kind: "interrupted", reason: "interrupt" }));
    },
    startClock() {
      lastOutputAt = performance.now();
      after(deadlines.wallMs, () => end({ kind: "wall" }));
      if (deadlines.idleMs !== undefined) watchIdle(deadlines.idleMs);
    },
    ended,
  };
}

function isWholeJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
