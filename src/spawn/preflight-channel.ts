// Lends a preflight what it needs: the started CLI's pipes (claude), or a short process of its own (codex app-server).

import { signalGroup } from "../exec/process-group.ts";
import type { PreflightChannel } from "../render/provider.ts";
import { type ProviderChild, startChild } from "./child.ts";
import { createLineFramer } from "./frame.ts";
import { kill } from "./stop.ts";

type LineListener = (line: string) => void;

/** Shown every line that is read: what an agent answers on its control channel always is. */
export interface LineHub {
  emit(line: string): void;
  listen(listener: LineListener): () => void;
}

export function createLineHub(): LineHub {
  const listeners = new Set<LineListener>();
  return {
    emit(line) {
      for (const listener of listeners) listener(line);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The channel over the pipes of the CLI itself. */
export function channelOfChild(child: ProviderChild, lines: LineHub, signal: AbortSignal): PreflightChannel {
  const exited = child.exited.then((exit) => ({ ...exit, stderr: child.stderrTail() }));
  return { stdin: child.stdin, onLine: lines.listen, exited, signal };
}

/** The channel that starts the binary once more, in the run's own environment, and ends it when the session is over. */
export function channelOfOwnProcess(
  start: { program: string; env: Record<string, string>; cwd: string },
  signal: AbortSignal,
): PreflightChannel {
  return {
    signal,
    runAppServer: async (argv, session) => {
      const child = await startChild({ ...start, argv });
      const lines = createLineHub();
      const framer = createLineFramer({ onLine: lines.emit, onOverflow: () => {} });
      child.stdout.on("data", (chunk: Buffer) => framer.push(chunk));
      const gone = child.exited.then(({ code, signal: by }) => {
        throw new Error(
          `the preflight process ended (${by ?? `exit ${code}`}): ${child.stderrTail().trim().slice(-2000)}`,
        );
      });
      try {
        const io = {
          write: (line: string) => void child.stdin.write(`${line}\n`),
          onLine: lines.listen,
          signal,
        };
        return await Promise.race([session(io), gone]);
      } finally {
        gone.catch(() => {}); // its error was either the race's result or comes from our own KILL below
        child.stdin.destroy();
        signalGroup(kill, child.groupId, "SIGKILL");
        await child.exited;
      }
    },
  };
}
