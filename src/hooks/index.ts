// The public list of agent-bridle/hooks, nothing else. secretScan is in agent-bridle/hooks/secret-scan: it needs packages of its own.

export { type AuditLogOptions, auditLog } from "./audit-log.ts";
export { type BudgetOptions, budget } from "./budget.ts";
export { type DenyDestructiveShellOptions, denyDestructiveShell } from "./deny-destructive-shell.ts";
export { type FencedWorkspaceOptions, fencedWorkspace } from "./fenced-workspace.ts";
export { type LintAfterEditOptions, lintAfterEdit } from "./lint-after-edit.ts";
export { type PromptHygieneOptions, promptHygiene } from "./prompt-hygiene.ts";
export { type ProtectPathsOptions, protectPaths } from "./protect-paths.ts";
