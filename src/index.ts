// The public list, nothing else.

export { type CompileOptions, compileAgentHooks } from "./compiler/compile.ts";
export { type ExplainedRun, explain } from "./compiler/explain.ts";
export type { EntryProvenance, ProofSummary, ProveState, SkippedEntry } from "./compiler/plan.ts";
export {
  type ListedHook,
  type Loaded,
  listHooks,
  type ResolveOptions,
  refusesRun,
} from "./compiler/resolve-hooks.ts";
export { type HookDescription, RenderedHooks } from "./compiler/token.ts";
export type { CompileWarning } from "./compiler/warnings.ts";
export { type Edited, type EditOptions, editSettings, readSettings } from "./declaration/edit-settings.ts";
export type { SettingsFile } from "./declaration/find-settings.ts";
export { type LoadedDeclaration, loadDeclaration } from "./declaration/load.ts";
export {
  type LoadedSettings,
  type LoadSettingsOptions,
  loadSettings,
} from "./declaration/load-settings.ts";
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
export {
  type LocatedIssue,
  type ValidatedFile,
  validateFile,
  validateSettings,
} from "./declaration/validate-settings.ts";
export { type ExaminedMachine, examineMachine } from "./doctor/examine-machine.ts";
export {
  type AuthKind,
  type ExaminedProvider,
  examineProvider,
} from "./doctor/examine-provider.ts";
export { AgentHooksRefused, formatIssue, type Issue, REFUSAL_CODES, type RefusalCode } from "./errors.ts";
export { createJsonlStore, type JsonlStore, readJsonlStore } from "./host/jsonl-store.ts";
export type { JsonlLine } from "./host/parse-line.ts";
export type { FailureMode, HookReceipt, HookRecord, HookType, ReceiptStore } from "./host/receipt.ts";
export { type ImportOptions, type ImportReport, importFiles } from "./import/import-files.ts";
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
export { type ListedRun, type ListOptions, listRuns, type RunState } from "./journal/list-runs.ts";
export type { ExitDelivery } from "./journal/record.ts";
export { type RecoverOptions, type Recovery, type RecoveryState, recoverRuns } from "./journal/recover.ts";
export type { CleanedDirectory } from "./journal/remove-directory.ts";
export type { RecoveredHook } from "./journal/run-exit-chain.ts";
export { type StopAnswer, stopRun } from "./journal/stop-run.ts";
export type { Json, JsonObject } from "./json.ts";
export * from "./profile/index.ts";
export { type CaseChange, compareProofs, type ProofComparison } from "./prove/compare.ts";
export { type Downgrade, type Proof, type ProvenCase, parseProof, provenCallbacks } from "./prove/proof.ts";
export type { ProofProgress } from "./prove/prove-binary.ts";
export { type Proven, type ProveOptions, proveProvider } from "./prove/prove-provider.ts";
export type { LineReading } from "./receipts/json-lines.ts";
export { type FoundReceipt, readReceipts } from "./receipts/read-receipts.ts";
export type { ReceiptLine, ReceiptSink, StampedReceipt } from "./receipts/receipt.ts";
export { receiptsDirectory } from "./receipts/writer.ts";
export { createRedactor, type Redactor } from "./redaction/redactor.ts";
export { escapeForTerminal, toOneLine } from "./redaction/terminal.ts";
export type { StreamEvent } from "./render/provider.ts";
export type { StricterForm } from "./render/stricter-forms.ts";
export { buildEnvelope, type EnvelopePlace } from "./selftest/build-envelope.ts";
export { type Invoked, type InvokedStep, type InvokeOptions, invokeHooks } from "./selftest/invoke-hooks.ts";
export type { Answer } from "./selftest/judge-answer.ts";
export {
  type GuardReport,
  type GuardState,
  isSound,
  type SelfTestOptions,
  type SelfTestRow,
  testHooks,
} from "./selftest/run-self-tests.ts";
export type { AmbientFinding } from "./spawn/ambient.ts";
export type { EventAttestation, RunAttestation } from "./spawn/attestation.ts";
export { DEFAULT_DEADLINES, type Deadlines } from "./spawn/deadlines.ts";
export type { AgentEvent, HookEvent } from "./spawn/events.ts";
export { listAmbient } from "./spawn/list-ambient.ts";
export type { AdmitOptions, SpawnOptions } from "./spawn/options.ts";
export type { Extinction, HookCounts, RunResult, Usage } from "./spawn/result.ts";
export type { AgentRun } from "./spawn/run.ts";
export type { Outcome } from "./spawn/settle.ts";
export { spawnAgent } from "./spawn/spawn-agent.ts";
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
export { type PendingCommand, type PendingFile, pendingCommands } from "./trust/pending.ts";
export type { Pin } from "./trust/pins.ts";
export { describeProjectTrust } from "./trust/project-trust.ts";
export { approve, approveProject, revoke, revokeProject } from "./trust/record-trust.ts";
export { readTrust, type TrustRecords } from "./trust/trust-records.ts";
export { VERSION } from "./version.ts";
