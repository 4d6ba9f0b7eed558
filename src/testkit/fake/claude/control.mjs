// @ts-check
// claude's answers on the control channel, before any prompt: the truth about this start, or the lie that a script tells.

import { commits } from "../committed.mjs";

/** @import { Session } from "./session.mjs" */

/** @type {Record<string, (session: Session) => Record<string, any> | undefined>} */
const ANSWERS = {
  initialize: ({ version, permissionMode, script: { sins } }) => ({
    claude_code_version: version,
    current_permission_mode: permissionMode,
    ...(commits(sins, "lie-no-on-failure") ? {} : { hook_on_failure_supported: true }),
    ...(commits(sins, "lie-no-callbacks") ? {} : { hooks_applied: true }),
  }),
  get_settings: ({ settings, errors, script: { sins } }) =>
    commits(sins, "lie-silence")
      ? undefined
      : {
          errors: commits(sins, "lie-settings-errors") ? ["hooks: expected an object"] : errors,
          effective: settings ?? {},
          sources: [
            ...(settings === undefined ? [] : [{ source: "flagSettings", settings }]),
            ...(commits(sins, "lie-other-source") ? [{ source: "userSettings", settings: {} }] : []),
          ],
        },
  get_hooks_listing: (session) => {
    const { sins } = session.script;
    const isSimple = session.isSimple || commits(sins, "lie-bare-mode");
    return {
      policy: commits(sins, "lie-all-disabled") ? { allDisabled: true } : {},
      ...(isSimple ? { bareMode: true } : {}),
      hooks: commits(sins, "lie-hooks-missing") ? [] : listHooks(session),
    };
  },
};

/** @param {Session} session */
function listHooks({ settings, isSimple, script: { sins } }) {
  const isDisabled = isSimple || commits(sins, "lie-hook-disabled");
  const own = Object.entries(settings?.hooks ?? {}).flatMap(([event, groups]) =>
    /** @type {any[]} */ (groups).flatMap(({ matcher, hooks }) =>
      hooks.map((/** @type {any} */ { command, timeout }) => ({
        event,
        source: "flagSettings",
        commandText: command,
        ...(matcher === undefined ? {} : { matcher }),
        ...(timeout === undefined ? {} : { timeout }),
        disabled: isDisabled,
      })),
    ),
  );
  const foreign = {
    event: "PreToolUse",
    source: "pluginHook",
    commandText: "/opt/other/hook",
    disabled: false,
  };
  return commits(sins, "lie-foreign-hook") ? [...own, foreign] : own;
}

/**
 * The line that answers a request, or undefined when the fake keeps silent.
 * @param {Session} session @param {{ request_id: string, request: { subtype: string } }} line
 */
export function answerControl(session, { request_id, request: { subtype } }) {
  const answer = ANSWERS[subtype];
  if (answer === undefined && subtype !== "interrupt") {
    const error = `unknown request ${JSON.stringify(subtype)}`;
    return { type: "control_response", response: { subtype: "error", request_id, error } };
  }
  const response = answer === undefined ? {} : answer(session);
  if (response === undefined) return undefined;
  return { type: "control_response", response: { subtype: "success", request_id, response } };
}
