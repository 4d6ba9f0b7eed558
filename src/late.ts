// The functions of the public list that answer with a promise. Each loads its part of the library when it is first called, so that
// importing the library loads none of it.

import type * as Compile from "./compiler/compile.ts";
import type * as Hooks from "./compiler/resolve-hooks.ts";
import type * as Edit from "./declaration/edit-settings.ts";
import type * as Declaration from "./declaration/load.ts";
import type * as Settings from "./declaration/load-settings.ts";
import type * as Validate from "./declaration/validate-settings.ts";
import type * as Machine from "./doctor/examine-machine.ts";
import type * as ProviderOf from "./doctor/examine-provider.ts";
import type * as Import from "./import/import-files.ts";
import type * as Runs from "./journal/list-runs.ts";
import type * as Recover from "./journal/recover.ts";
import type * as Stop from "./journal/stop-run.ts";
import { importZod } from "./packages.ts";
import type * as Prove from "./prove/prove-provider.ts";
import type * as Receipts from "./receipts/verify-receipts.ts";
import type * as Reports from "./report/report.ts";
import type * as Locks from "./schedule/hold-lock.ts";
import type * as Invoke from "./selftest/invoke-hooks.ts";
import type * as SelfTests from "./selftest/run-self-tests.ts";
import type * as Ambient from "./spawn/list-ambient.ts";
import type * as Pending from "./trust/pending.ts";
import type * as Project from "./trust/project-trust.ts";
import type * as Record from "./trust/record-trust.ts";
import type * as Trust from "./trust/trust-records.ts";

/** The named function of a module that is loaded when it is called. What it throws, and that it cannot be loaded, rejects. */
function late<Module, Name extends keyof Module>(load: () => Promise<Module>, name: Name): Module[Name] {
  const call = async (...given: readonly unknown[]) => {
    const [module] = await Promise.all([load(), importZod()]);
    return (module[name] as (...given: readonly unknown[]) => unknown)(...given);
  };
  return Object.defineProperty(call, "name", { value: name }) as Module[Name];
}

export const compileAgentHooks: typeof Compile.compileAgentHooks = late(
  () => import("./compiler/compile.ts"),
  "compileAgentHooks",
);
export const listHooks: typeof Hooks.listHooks = late(
  () => import("./compiler/resolve-hooks.ts"),
  "listHooks",
);
export const editSettings: typeof Edit.editSettings = late(
  () => import("./declaration/edit-settings.ts"),
  "editSettings",
);
export const readSettings: typeof Edit.readSettings = late(
  () => import("./declaration/edit-settings.ts"),
  "readSettings",
);
export const loadDeclaration: typeof Declaration.loadDeclaration = late(
  () => import("./declaration/load.ts"),
  "loadDeclaration",
);
export const loadSettings: typeof Settings.loadSettings = late(
  () => import("./declaration/load-settings.ts"),
  "loadSettings",
);
export const validateFile: typeof Validate.validateFile = late(
  () => import("./declaration/validate-settings.ts"),
  "validateFile",
);
export const validateSettings: typeof Validate.validateSettings = late(
  () => import("./declaration/validate-settings.ts"),
  "validateSettings",
);
export const examineMachine: typeof Machine.examineMachine = late(
  () => import("./doctor/examine-machine.ts"),
  "examineMachine",
);
export const examineProvider: typeof ProviderOf.examineProvider = late(
  () => import("./doctor/examine-provider.ts"),
  "examineProvider",
);
export const importFiles: typeof Import.importFiles = late(
  () => import("./import/import-files.ts"),
  "importFiles",
);
export const listRuns: typeof Runs.listRuns = late(() => import("./journal/list-runs.ts"), "listRuns");
export const recoverRuns: typeof Recover.recoverRuns = late(
  () => import("./journal/recover.ts"),
  "recoverRuns",
);
export const stopRun: typeof Stop.stopRun = late(() => import("./journal/stop-run.ts"), "stopRun");
export const proveProvider: typeof Prove.proveProvider = late(
  () => import("./prove/prove-provider.ts"),
  "proveProvider",
);
export const invokeHooks: typeof Invoke.invokeHooks = late(
  () => import("./selftest/invoke-hooks.ts"),
  "invokeHooks",
);
export const testHooks: typeof SelfTests.testHooks = late(
  () => import("./selftest/run-self-tests.ts"),
  "testHooks",
);
export const listAmbient: typeof Ambient.listAmbient = late(
  () => import("./spawn/list-ambient.ts"),
  "listAmbient",
);
export const pendingCommands: typeof Pending.pendingCommands = late(
  () => import("./trust/pending.ts"),
  "pendingCommands",
);
export const describeProjectTrust: typeof Project.describeProjectTrust = late(
  () => import("./trust/project-trust.ts"),
  "describeProjectTrust",
);
export const approve: typeof Record.approve = late(() => import("./trust/record-trust.ts"), "approve");
export const approveProject: typeof Record.approveProject = late(
  () => import("./trust/record-trust.ts"),
  "approveProject",
);
export const revoke: typeof Record.revoke = late(() => import("./trust/record-trust.ts"), "revoke");
export const revokeProject: typeof Record.revokeProject = late(
  () => import("./trust/record-trust.ts"),
  "revokeProject",
);
export const readTrust: typeof Trust.readTrust = late(() => import("./trust/trust-records.ts"), "readTrust");
export const verifyReceipts: typeof Receipts.verifyReceipts = late(
  () => import("./receipts/verify-receipts.ts"),
  "verifyReceipts",
);
export const createReport: typeof Reports.createReport = late(
  () => import("./report/report.ts"),
  "createReport",
);
export const holdLock: typeof Locks.holdLock = late(() => import("./schedule/hold-lock.ts"), "holdLock");
