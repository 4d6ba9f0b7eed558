// The preflight over a channel that answers as told. What the real CLI answers: conformance/render.preflight.test.ts.

import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { preflight } from "../../../src/render/claude/preflight.ts";
import { renderHooks } from "../../../src/render/claude/settings.ts";
import type { PreflightChannel } from "../../../src/render/provider.ts";
import { makeContext, makePlan } from "../support.ts";

const plan = makePlan("claude");
const context = makeContext();
const hooks = renderHooks(plan, context.shimPath);

interface Answers {
  initialize: JsonObject;
  get_settings: JsonObject;
  get_hooks_listing: JsonObject;
}

/** What claude 2.1.332 answers when all is well. */
function good(): Answers {
  const rows = Object.entries(hooks).map(([event, groups]) => {
    const [{ hooks: handlers }] = groups as unknown as [{ hooks: [JsonObject] }];
    const { command, timeout } = handlers[0];
    return { event, source: "flagSettings", commandText: command, timeout } as JsonObject;
  });
  return {
    initialize: { hook_on_failure_supported: true, claude_code_version: "2.1.332" },
    get_settings: { effective: { hooks }, sources: [{ source: "flagSettings", settings: { hooks } }] },
    get_hooks_listing: {
      hooks: rows,
      policy: { disabledByPolicy: false, managedOnly: false, pluginOnly: false, allDisabled: false },
    },
  };
}

const PROMPT_MARK = '"type":"user"';

async function attest(change: (answers: Answers) => void = () => {}) {
  const answers = structuredClone(good());
  change(answers);
  const listeners = new Set<(line: string) => void>();
  const stdin = new PassThrough();
  let sent = "";
  stdin.on("data", (chunk: Buffer) => {
    sent += chunk;
    const { request_id, request } = JSON.parse(chunk.toString());
    const response = { subtype: "success", request_id, response: answers[request.subtype as keyof Answers] };
    for (const listener of [...listeners]) {
      listener("noise");
      listener(
        JSON.stringify({ type: "control_response", response: { ...response, request_id: "another" } }),
      );
      listener(JSON.stringify({ type: "control_response", response }));
    }
  });
  const channel: PreflightChannel = {
    stdin,
    onLine: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    exited: new Promise(() => {}),
    signal: AbortSignal.timeout(5000),
  };
  const report = await preflight(plan, context, channel);
  expect(sent).not.toContain(PROMPT_MARK);
  expect(listeners.size).toBe(0);
  return report;
}

const rowsOf = ({ get_hooks_listing }: Answers) => get_hooks_listing.hooks as JsonObject[];
const policyRow = { event: "Stop", source: "policySettings", commandText: "x" };

test("exactly our hooks attest", async () => {
  expect(await attest()).toEqual({
    issues: [],
    foreignHooks: [],
    capabilities: { hook_on_failure_supported: true },
    providerVersion: "2.1.332",
  });
});

test("hooks of the machine's policy are told, not refused", async () => {
  const report = await attest((answers) => {
    rowsOf(answers).push(policyRow);
    (answers.get_settings.sources as JsonObject[]).push({ source: "policySettings", settings: {} });
  });
  expect(report).toMatchObject({
    issues: [],
    foreignHooks: [{ event: "Stop", source: "policySettings", command: "x" }],
  });
});

test.each<[string, string, (answers: Answers) => void]>([
  [
    "onFailure is not supported",
    "provider_unsupported",
    ({ initialize }) => void delete initialize.hook_on_failure_supported,
  ],
  [
    "a settings file is rejected",
    "attestation_failed",
    ({ get_settings }) => void Object.assign(get_settings, { errors: [{ path: "x" }] }),
  ],
  [
    "the effective hooks are others",
    "attestation_failed",
    ({ get_settings }) => void Object.assign(get_settings, { effective: { hooks: {} } }),
  ],
  [
    "our source is missing",
    "attestation_failed",
    ({ get_settings }) => void Object.assign(get_settings, { sources: [] }),
  ],
  [
    "there is a source of the user",
    "attestation_failed",
    ({ get_settings }) =>
      void (get_settings.sources as JsonObject[]).push({ source: "userSettings", settings: {} }),
  ],
  [
    "a hook is disabled",
    "attestation_failed",
    (answers) => void Object.assign(rowsOf(answers)[0] ?? {}, { disabled: true }),
  ],
  [
    "a hook is listed twice",
    "attestation_failed",
    (answers) => void rowsOf(answers).push({ ...rowsOf(answers)[0] }),
  ],
  ["a hook is not listed", "attestation_failed", (answers) => void rowsOf(answers).pop()],
  [
    "a plugin has hooks",
    "attestation_failed",
    (answers) => void rowsOf(answers).push({ ...policyRow, source: "pluginHook" }),
  ],
  [
    "it runs in bare mode",
    "attestation_failed",
    ({ get_hooks_listing }) => void Object.assign(get_hooks_listing, { bareMode: {} }),
  ],
  [
    "it runs in safe mode",
    "attestation_failed",
    ({ get_hooks_listing }) => void Object.assign(get_hooks_listing, { safeMode: true }),
  ],
  [
    "it says nothing of policy",
    "attestation_failed",
    ({ get_hooks_listing }) => void delete get_hooks_listing.policy,
  ],
  [
    "a policy admits only managed hooks",
    "provider_policy",
    ({ get_hooks_listing }) =>
      void Object.assign(get_hooks_listing.policy as JsonObject, { managedOnly: true }),
  ],
  [
    "hooks are switched off",
    "provider_policy",
    ({ get_settings }) => void Object.assign(get_settings.effective as JsonObject, { disableAllHooks: true }),
  ],
])("when %s the run is refused: %s", async (_name, code, change) => {
  const { issues } = await attest(change);
  expect([...new Set(issues.map((issue) => issue.code))]).toEqual([code]);
});
