// A plan and a run context as compile and spawn would make them, with fixed paths.

import type { HookPlan } from "../../src/compiler/plan.ts";
import type { Provider } from "../../src/profile/events.ts";
import type { RunContext, RunOptions } from "../../src/render/provider.ts";

const identity = {
  path: "/bin/cli",
  dev: 1,
  ino: 1,
  size: 1,
  mtimeMs: 1,
  ctimeMs: 1,
  mode: 0o755,
  sha256: "0".repeat(64),
};

export function makePlan(provider: Provider, version = "2.1.332"): HookPlan {
  return {
    provider,
    binary: { provider, identity, version, companions: [] },
    projectRoot: "/work",
    entries: [],
    events: ["PreToolUse", "Stop"],
    deadlines: {
      PreToolUse: { shimSeconds: 65, providerSeconds: 70 },
      Stop: { shimSeconds: 65, providerSeconds: 70 },
    },
    transports: { PreToolUse: "shim", Stop: "shim" },
    hookPath: "/usr/bin",
    prove: "off",
    proof: undefined,
    downgrades: [],
    skipped: [],
    provenance: {},
    digest: "d",
  };
}

export const SESSION = "11111111-1111-4111-8111-111111111111";

export function makeContext(options: Partial<RunOptions> = {}): RunContext {
  return {
    runId: "run",
    sessionId: SESSION,
    runDir: "/run/r",
    shimPath: "/run/r/s/shim",
    providerHome: "/run/r/home",
    tmpDir: "/tmp/t",
    options: { cwd: "/work", ...options },
    projectRoot: "/work",
    marker: "mark",
  };
}
