// What the tests of the import share.

import type { FileKind } from "../../src/import/report-types.ts";

export function kindOfFixture(name: string): FileKind {
  if (name.endsWith(".toml")) return "toml";
  return name.endsWith(".md") ? "frontmatter" : "json";
}
