// The columns of the matrix.

/** One CLI in one of its ways to call tools. */
export const COLUMN_NAMES = ["claude", "codex", "codex-code-mode"] as const;
export type ColumnName = (typeof COLUMN_NAMES)[number];
