// The columns of the matrix.

/** One CLI in one of its ways to call tools, or to ask its hooks. */
export const COLUMN_NAMES = ["claude", "claude-callbacks", "codex", "codex-code-mode"] as const;
export type ColumnName = (typeof COLUMN_NAMES)[number];
/** claude that asks over its own pipes. Every case that claude has through Bridle is played there too. */
export const CALLBACK_COLUMN = "claude-callbacks";
