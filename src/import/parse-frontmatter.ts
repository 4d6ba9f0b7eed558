// Reads the YAML frontmatter of a SKILL.md or an agent's file into a source tree. Aliases are not followed: what they stand for is said
// elsewhere in the file, and a bomb made of them has no end.

import type { LineCounter as Lines, Node } from "yaml";
import { loadYaml } from "../packages.ts";
import { MAX_DEPTH, type Member, type ParsedSource, type SourceNode, TOO_DEEP } from "./source-tree.ts";

const FENCE = /^---[ \t]*$/;

export function parseFrontmatter(source: string): ParsedSource {
  const text = source.replace(/^\uFEFF/, "");
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  if (!FENCE.test(lines[0] ?? "")) return { root: undefined, notes: ["there is no frontmatter"] };
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end === -1)
    return { error: { message: "the frontmatter has no end: no closing ---", line: 1, column: 1 } };
  // Blank lines in place of the head keep the numbers of the lines.
  const yaml = `\n${lines.slice(1, end).join("\n")}\n`;
  const { LineCounter, parseDocument } = loadYaml();
  const lineCounter = new LineCounter();
  try {
    const document = parseDocument(yaml, { lineCounter, uniqueKeys: false, stringKeys: false });
    const [problem] = document.errors;
    if (problem !== undefined) {
      const place = problem.linePos?.[0];
      const message = `the frontmatter is not valid YAML: ${problem.message.split("\n")[0]}`;
      return {
        error: { message, ...(place === undefined ? {} : { line: place.line, column: place.col }) },
      };
    }
    const root =
      document.contents === null ? undefined : convert(document.contents, { yaml, lineCounter, depth: 0 });
    return { root, notes: [] };
  } catch (error) {
    // The YAML parser recurses and says so with a RangeError; depth is the only thing it can fail on here.
    if (error instanceof RangeError) return { error: { message: TOO_DEEP } };
    throw error;
  }
}

interface Place {
  readonly yaml: string;
  readonly lineCounter: Lines;
  readonly depth: number;
}

function convert(node: unknown, place: Place): SourceNode {
  const { yaml, lineCounter } = place;
  const { isAlias, isMap, isScalar, isSeq } = loadYaml();
  const [start, end] = (node as Node | null)?.range ?? [0, 0];
  const located = { line: lineCounter.linePos(start).line, text: yaml.slice(start, end) };
  if (place.depth > MAX_DEPTH) throw new RangeError(TOO_DEEP);
  const inner = { ...place, depth: place.depth + 1 };
  if (node === null) return { ...located, kind: "null" };
  if (isAlias(node)) return { ...located, kind: "other", what: `the alias *${node.source}` };
  if (isMap(node)) {
    const members = node.items.map((pair): Member => {
      const value = convert(pair.value, inner);
      const key = isScalar(pair.key) ? String(pair.key.value) : "(a key that is no text)";
      const at = (pair.key as Node | null)?.range?.[0] ?? start;
      return { key, line: lineCounter.linePos(at).line, value };
    });
    return { ...located, kind: "object", members };
  }
  if (isSeq(node)) return { ...located, kind: "list", items: node.items.map((item) => convert(item, inner)) };
  const value = isScalar(node) ? node.value : undefined;
  if (typeof value === "string") return { ...located, kind: "string", value };
  if (typeof value === "number") return { ...located, kind: "number", value };
  if (typeof value === "boolean") return { ...located, kind: "boolean", value };
  if (value === null) return { ...located, kind: "null" };
  return { ...located, kind: "other", what: "a value that JSON does not have" };
}
