// Hands texts to a thread of its own that looks for secrets, one list after another, and ends that thread when it takes too long. Never looks
// at a text itself: an expression that is slow on some text must not stop every other hook.

import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { SECRET_PATTERNS } from "../redaction/patterns.ts";

export interface FoundSecret {
  readonly kind: string;
  /** Place of its text in the list. */
  readonly text: number;
  /** In UTF-16 units of that text. */
  readonly index: number;
  /** What a shape of Bridle's own matched: to be judged, never to be shown. */
  readonly value?: string;
}

export interface SecretScanner {
  /** Undefined: it took longer than it may. Rejects when the thread cannot be started, fails, or `signal` says that nobody waits. */
  scan(texts: readonly string[], signal: AbortSignal): Promise<readonly FoundSecret[] | undefined>;
}

/** Longest wait for the rules to load, in milliseconds. */
const START_MS = 30_000;
/** Lists that one thread looks at; then another takes its place, so that nothing of theirs gathers. */
const SCANS_MAX = 500;
/** Memory of the thread, in MiB; beyond, it ends alone. */
const MEMORY_MIB = 512;

/** Shapes of redaction that the rules do not have, or not all of. */
const OWN = SECRET_PATTERNS.filter(({ name }) =>
  /^(?:vendor-key|pem|jwt|url-credentials|bearer|authorization)$/.test(name),
).map(({ name, pattern }) => ({ name, pattern }));

type Answer =
  | { readonly ready: true }
  | { readonly found: readonly FoundSecret[] }
  | { readonly error: string };

/** `rules`: the package of the rules. `scanMs`: for one list, the loading of the rules aside. */
export function createSecretScanner({ rules, scanMs }: { rules: string; scanMs: number }): SecretScanner {
  let worker: Worker | undefined;
  let scans = 0;
  let last: Promise<unknown> = Promise.resolve();

  const end = async () => {
    const ending = worker;
    worker = undefined;
    scans = 0;
    await ending?.terminate();
  };

  const scanNow = async (texts: readonly string[], signal: AbortSignal) => {
    signal.throwIfAborted();
    if (scans >= SCANS_MAX) await end();
    scans += 1;
    try {
      if (worker === undefined) {
        const started = startThread(rules);
        worker = started;
        started.once("exit", () => {
          if (worker === started) worker = undefined;
        });
        if ((await answerOf(worker, START_MS, signal)) === undefined)
          throw new Error(`the rules of secretScan did not load within ${START_MS} ms`);
      }
      worker.ref(); // the process does not end while a call waits for it
      worker.postMessage(texts);
      const answer = await answerOf(worker, scanMs, signal);
      if (answer === undefined) {
        await end();
        return undefined;
      }
      if (!("found" in answer)) throw new Error("error" in answer ? answer.error : "it answered out of turn");
      worker.unref();
      return answer.found;
    } catch (error) {
      await end();
      throw error;
    }
  };

  return {
    scan(texts, signal) {
      const own = last.then(() => scanNow(texts, signal));
      last = own.catch(() => undefined); // told to the one who asked
      return own;
    },
  };
}

/** Sees nothing of this process: no variables, no options of its own. */
function startThread(rules: string): Worker {
  const worker = new Worker(fileURLToPath(new URL("./secret-worker.mjs", import.meta.url)), {
    workerData: { rules, own: OWN },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
  });
  worker.on("error", () => {}); // told by `answerOf`; between two lists the next one finds it gone
  return worker;
}

/** The next message; undefined after `ms`. Rejects when the thread ends instead. */
function answerOf(worker: Worker, ms: number, signal: AbortSignal): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(() => resolve(undefined)), ms);
    const settle = (how: () => void) => {
      clearTimeout(timer);
      worker.off("message", onMessage);
      worker.off("error", onError);
      worker.off("exit", onExit);
      signal.removeEventListener("abort", onAbort);
      how();
    };
    const onMessage = (answer: Answer) => settle(() => resolve(answer));
    const onError = (error: Error) => settle(() => reject(error));
    const onExit = (code: number) => settle(() => reject(new Error(`its thread ended with code ${code}`)));
    const onAbort = () => settle(() => reject(signal.reason));
    worker.on("message", onMessage);
    worker.on("error", onError);
    worker.on("exit", onExit);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
