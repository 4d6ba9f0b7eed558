// The public list, nothing else. What answers with a promise comes from late.ts, so that importing it stays quick.

export type { CompileOptions } from "./compiler/compile.ts";
export type { ExplainedRun } from "./compiler/explain.ts";
export { explain } from "./compiler/explain-token.ts";
export type { EntryProvenance, ProofSummary, ProveState, SkippedEntry } from "./compiler/plan.ts";
export { refusesRun } from "./compiler/refuses-run.ts";
export type { ListedHook, Loaded, ResolveOptions } from "./compiler/resolve-hooks.ts";
export { type HookDescription, RenderedHooks } from "./compiler/token.ts";
export type { CompileWarning } from "./compiler/warnings.ts";
export type { Edited, EditOptions } from "./declaration/edit-settings.ts";
export type { SettingsFile } from "./declaration/find-settings.ts";
export type { LoadedDeclaration } from "./declaration/load.ts";
export type { LoadedSettings, LoadSettingsOptions } from "./declaration/load-settings.ts";
export type { Origin, Tier } from "./declaration/origin.ts";
export type {
  CommandEntry,
  FunctionEntry,
  HookAnswer,
  HookDeclaration,
  HookEntry,
  HookGroup,
  HttpEntry,
  SelfTest,
} from "./declaration/types.ts";
export type { LocatedIssue, ValidatedFile } from "./declaration/validate-settings.ts";
export type { ExaminedMachine } from "./doctor/examine-machine.ts";
export type { AuthKind, ExaminedProvider } from "./doctor/examine-provider.ts";
export { AgentHooksRefused, formatIssue, type Issue, REFUSAL_CODES, type RefusalCode } from "./errors.ts";
export { createJsonlStore, type JsonlStore, readJsonlStore } from "./host/jsonl-store.ts";
export type { JsonlLine } from "./host/parse-line.ts";
export type { FailureMode, HookReceipt, HookRecord, HookType, ReceiptStore } from "./host/receipt.ts";
export type { ImportOptions, ImportReport } from "./import/import-files.ts";
export { importHooks } from "./import/import-hooks.ts";
export type {
  FileError,
  FileKind,
  FileReport,
  HookSource,
  ReportEntry,
  Verdict as ImportVerdict,
} from "./import/report-types.ts";
export type { AgentFound } from "./journal/end-lost-tree.ts";
export type { ListedRun, ListOptions, RunState } from "./journal/list-runs.ts";
export type { ExitDelivery } from "./journal/record.ts";
export type { RecoverOptions, Recovery, RecoveryState } from "./journal/recover.ts";
export type { CleanedDirectory } from "./journal/remove-directory.ts";
export type { RecoveredHook } from "./journal/run-exit-chain.ts";
export type { StopAnswer } from "./journal/stop-run.ts";
export type { Json, JsonObject } from "./json.ts";
export {
  approve,
  approveProject,
  compileAgentHooks,
  createReport,
  describeProjectTrust,
  editSettings,
  examineMachine,
  examineProvider,
  holdLock,
  importFiles,
  invokeHooks,
  listAmbient,
  listHooks,
  listRuns,
  loadDeclaration,
  loadSettings,
  pendingCommands,
  proveProvider,
  readSettings,
  readTrust,
  recoverRuns,
  revoke,
  revokeProject,
  stopRun,
  testHooks,
  validateFile,
  validateSettings,
  verifyReceipts,
} from "./late.ts";
export * from "./profile/index.ts";
export { type CaseChange, compareProofs, type ProofComparison } from "./prove/compare.ts";
export { type Downgrade, type Proof, type ProvenCase, parseProof, provenCallbacks } from "./prove/proof.ts";
export type { ProofProgress } from "./prove/prove-binary.ts";
export type { Proven, ProveOptions } from "./prove/prove-provider.ts";
export type { ReceiptProblem, ReceiptProblemKind } from "./receipts/follow-chain.ts";
export type { LineReading } from "./receipts/json-lines.ts";
export { type FoundReceipt, readReceipts } from "./receipts/read-receipts.ts";
export type { ReceiptLine, ReceiptSink, StampedReceipt } from "./receipts/receipt.ts";
export { receiptsDirectory } from "./receipts/state-directory.ts";
export type {
  ReceiptsState,
  VerifiedReceipts,
  VerifiedRun,
  VerifyOptions,
} from "./receipts/verify-receipts.ts";
export { createRedactor, type Redactor } from "./redaction/redactor.ts";
export { escapeForTerminal, toOneLine } from "./redaction/terminal.ts";
export type { StreamEvent } from "./render/provider.ts";
export type { StricterForm } from "./render/stricter-forms.ts";
export type { Report, ReportOptions } from "./report/report.ts";
export type { HeldLock, HoldLockOptions, LockHolder } from "./schedule/hold-lock.ts";
export { buildEnvelope, type EnvelopePlace } from "./selftest/build-envelope.ts";
export type { Invoked, InvokedStep, InvokeOptions } from "./selftest/invoke-hooks.ts";
export { isSound } from "./selftest/is-sound.ts";
export type { Answer } from "./selftest/judge-answer.ts";
export type { GuardReport, GuardState, SelfTestOptions, SelfTestRow } from "./selftest/run-self-tests.ts";
export type { AmbientFinding } from "./spawn/ambient.ts";
export type { EventAttestation, RunAttestation } from "./spawn/attestation.ts";
export { DEFAULT_DEADLINES, type Deadlines } from "./spawn/deadlines.ts";
export type { AgentEvent, HookEvent } from "./spawn/events.ts";
export type { AdmitOptions, SpawnOptions } from "./spawn/options.ts";
export type { Extinction, HookCounts, RunResult, Usage } from "./spawn/result.ts";
export type { AgentRun } from "./spawn/run.ts";
export type { Outcome } from "./spawn/settle.ts";
export { spawnAgent } from "./spawn/spawn.ts";
export { createSupervisor, type Supervisor } from "./supervisor/create-supervisor.ts";
export { type StopAllOptions, stopAllRuns } from "./supervisor/shutdown.ts";
export type { StartGate } from "./supervisor/start-gate.ts";
export {
  DEFAULT_SUPERVISOR,
  type QueueOptions,
  type SupervisorOptions,
} from "./supervisor/supervisor-options.ts";
export type { WorkspaceUse } from "./supervisor/workspace.ts";
export { hashCommand } from "./trust/command-hash.ts";
export type { PendingCommand, PendingFile } from "./trust/pending.ts";
export type { Pin } from "./trust/pins.ts";
export type { TrustRecords } from "./trust/trust-records.ts";
export { VERSION } from "./version.ts";
