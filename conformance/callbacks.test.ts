// claude's hooks as callbacks over its own pipes: chosen by the proof, and out of the reach of what the agent runs. What claude does with a
// side that hangs or is gone: conformance/matrix/88-callbacks.yaml.

import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compileAgentHooks, type HookDeclaration, type HookEntry } from "../src/index.ts";
import { resolveNativeBinary } from "./binaries.ts";
import { CLAUDE, makeSite, runGuarded, type Site, shell, touch } from "./support/harness.ts";

const answers = (handler: Extract<HookEntry, { type: "function" }>["handler"]): HookDeclaration => ({
  PreToolUse: [{ hooks: [{ type: "function", handler }] }],
});

/** Denies every call that names `forbidden`. */
const guard = answers(({ tool_command: command }) =>
  String(command).includes("forbidden")
    ? { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "REASON-OF-THE-GUARD" } }
    : undefined,
);

/** Writes to stdin and stdout of every claude that there is, and says which it could open. */
const forge = (site: Site) => `
  for pid in $(ls /proc | grep '^[0-9]*$'); do
    case "$(readlink /proc/$pid/exe)" in */claude) ;; *) continue ;; esac
    for fd in 0 1; do
      echo "$fd" >> '${site.notes}/tries'
      if (printf '{"type":"control_response","response":{"subtype":"success","request_id":"x","response":{}}}\\n' >> /proc/$pid/fd/$fd) 2>/dev/null
      then readlink /proc/$pid/fd/$fd >> '${site.notes}/written'; fi
    done
  done`;

describe.skipIf(!existsSync("/proc/self/fd"))("what the agent runs", () => {
  it.each(["sweep", "pid-namespace"] as const)(
    "cannot write to the pipes that callbacks are answered on (%s)",
    async (containment) => {
      const { site, result, told } = await runGuarded({
        column: CLAUDE,
        compile: { transport: "callbacks" },
        declaration: () => guard,
        options: () => ({ containment }),
        script: (at) => [{ tools: [shell(forge(at))] }, { tools: [touch(at, "forbidden")] }],
      });
      expect(result).toMatchObject({ outcome: "success", hooks: { denied: 1 } });
      expect(site.note("tries")).toContain("0\n1\n");
      expect(site.note("written")).toBe("");
      expect(site.has("forbidden")).toBe(false);
      expect(told()).toContain("REASON-OF-THE-GUARD");
    },
  );
});

it("the proof that came with the package chooses callbacks for calls and the shim for the rest", async () => {
  const site = makeSite();
  const nothing = [{ hooks: [{ type: "function" as const, handler: () => undefined }] }];
  const hooks = await compileAgentHooks(
    {
      PreToolUse: nothing,
      PostToolUse: nothing,
      Stop: nothing,
      UserPromptSubmit: nothing,
      SessionEnd: nothing,
    },
    { provider: "claude", cwd: site.project, binary: resolveNativeBinary("claude"), prove: "require" },
  );
  expect(hooks.describe().transports).toEqual({
    SessionStart: "shim",
    PreToolUse: "callback",
    PostToolUse: "callback",
    Stop: "callback",
    UserPromptSubmit: "shim",
    SessionEnd: "shim",
  });
});
