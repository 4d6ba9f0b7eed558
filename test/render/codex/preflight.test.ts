// The preflight over an app-server that answers as told. What the real one answers: conformance/render.preflight.test.ts.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { renderHooks } from "../../../src/render/codex/hooks.ts";
import { preflight } from "../../../src/render/codex/preflight.ts";
import { makeContext, makePlan } from "../support.ts";

const plan = makePlan("codex");
const context = makeContext();

function goodRows(): JsonObject[] {
  return renderHooks(plan, context.shimPath).map(({ event, key, command, timeout, trustedHash }) => ({
    key,
    eventName: event,
    command,
    timeoutSec: timeout,
    source: "sessionFlags",
    enabled: true,
    isManaged: false,
    currentHash: trustedHash,
    trustStatus: "trusted",
  }));
}

async function attest(change: (rows: JsonObject[], errors: JsonObject[]) => void = () => {}) {
  const rows = goodRows();
  const errors: JsonObject[] = [];
  change(rows, errors);
  const rendered = { argv: [], files: [], env: {}, why: [], preflightArgv: ["app-server"] };
  return preflight(plan, context, rendered, {
    signal: AbortSignal.timeout(5000),
    runAppServer: (_argv, session) => {
      const listeners = new Set<(line: string) => void>();
      return session({
        signal: AbortSignal.timeout(5000),
        onLine: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        write: (line) => {
          const { id, method } = JSON.parse(line);
          const result = method === "hooks/list" ? { data: [{ hooks: rows, errors }] } : {};
          for (const listener of [...listeners]) {
            listener("noise");
            listener(JSON.stringify({ id, result }));
          }
        },
      });
    },
  });
}

const foreign = { eventName: "stop", key: "other", source: "user", enabled: true, trustStatus: "trusted" };

test("exactly our hooks attest", async () => {
  expect(await attest()).toMatchObject({ issues: [], foreignHooks: [] });
});

test("managed hooks are told, not refused; hooks that will not run are neither", async () => {
  const report = await attest((rows) => {
    rows.push(
      { ...foreign, isManaged: true, trustStatus: "managed", source: "system" },
      { ...foreign, key: "untrusted", isManaged: false, trustStatus: "untrusted" },
      { ...foreign, key: "disabled", isManaged: false, enabled: false },
    );
  });
  expect(report).toMatchObject({ issues: [], foreignHooks: [{ event: "stop", source: "system" }] });
});

test.each<[string, string, (rows: JsonObject[], errors: JsonObject[]) => void]>([
  ["nothing is listed", "provider_policy", (rows) => void rows.splice(0)],
  ["one hook is missing", "attestation_failed", (rows) => void rows.pop()],
  ["a hook is disabled", "attestation_failed", ([row = {}]) => void Object.assign(row, { enabled: false })],
  ["enabled is not said", "attestation_failed", ([row = {}]) => void delete row.enabled],
  [
    "a hook is not trusted",
    "attestation_failed",
    ([row = {}]) => void Object.assign(row, { trustStatus: "modified" }),
  ],
  [
    "a hash is another",
    "attestation_failed",
    ([row = {}]) => void Object.assign(row, { currentHash: "sha256:0" }),
  ],
  [
    "a command is another",
    "attestation_failed",
    ([row = {}]) => void Object.assign(row, { command: "true" }),
  ],
  [
    "a timeout is another",
    "attestation_failed",
    ([row = {}]) => void Object.assign(row, { timeoutSec: 600 }),
  ],
  ["a hook is listed twice", "attestation_failed", (rows) => void rows.push({ ...rows[0] })],
  ["another trusted hook would run", "attestation_failed", (rows) => void rows.push({ ...foreign })],
  ["codex reports an error", "attestation_failed", (_rows, errors) => void errors.push({ message: "x" })],
])("when %s the run is refused: %s", async (_name, code, change) => {
  const { issues } = await attest(change);
  expect([...new Set(issues.map((issue) => issue.code))]).toEqual([code]);
});
