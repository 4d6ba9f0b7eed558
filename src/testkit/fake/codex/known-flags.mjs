// @ts-check
// The flags a fake codex knows, by command; another is an error, as with the real one.

/** @typedef {import("../flags.mjs").KnownFlags} KnownFlags */

/** @type {KnownFlags} */
const SHARED = {
  "-c": "value",
  "--config": "value",
  "--enable": "value",
  "--disable": "value",
  "--strict-config": "none",
};

/** @type {KnownFlags} */
const EXEC = {
  ...SHARED,
  "--json": "none",
  "--experimental-json": "none",
  "--skip-git-repo-check": "none",
  "--ignore-rules": "none",
  "--ignore-user-config": "none",
  "--ephemeral": "none",
  "--dangerously-bypass-approvals-and-sandbox": "none",
  "--dangerously-bypass-hook-trust": "none",
  "--approve-for-me": "none",
  "--sandbox": "value",
  "-s": "value",
  "--cd": "value",
  "-C": "value",
  "--model": "value",
  "-m": "value",
  "--add-dir": "value",
  "--image": "value",
  "-i": "value",
  "--color": "value",
  "--output-last-message": "value",
  "-o": "value",
  "--output-schema": "value",
  "--profile": "value",
  "-p": "value",
};

/** @type {Readonly<Record<string, KnownFlags>>} */
export const COMMANDS = { exec: EXEC, "app-server": SHARED };
