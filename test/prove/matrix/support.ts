import type { MatrixCase } from "../../../src/prove/matrix/schema.ts";

export const makeItem = (part: Partial<MatrixCase> = {}): MatrixCase => ({
  id: "one",
  title: "One",
  kind: "blocks",
  event: "PreToolUse",
  rule: [],
  column: "claude",
  via: "bridle",
  required: true,
  expect: {},
  ...part,
});
