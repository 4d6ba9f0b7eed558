// Reads JSON, with comments and trailing commas, into a source tree. A comment is never read as a hook: the parser knows strings.

import type { Node, ParseError, ParseErrorCode } from "jsonc-parser";
import { loadJsonc } from "../packages.ts";
import {
  createLineFinder,
  MAX_DEPTH,
  type Member,
  type ParsedSource,
  type SourceNode,
  TOO_DEEP,
} from "./source-tree.ts";

/** Codes of the library that tolerance turns into a note. */
const INVALID_COMMENT = 10 satisfies ParseErrorCode.InvalidCommentToken;

export function parseJson(source: string): ParsedSource {
  const notes: string[] = [];
  let text = source;
  if (text.startsWith("\uFEFF")) {
    text = text.slice(1);
    notes.push("a byte order mark was tolerated");
  }
  const placeOf = createLineFinder(text);
  if (isTooDeep(text)) return { error: { message: TOO_DEEP } };
  const { parseTree } = loadJsonc();
  const strict: ParseError[] = [];
  const root = parseTree(text, strict, { allowTrailingComma: false, disallowComments: true });
  const tolerant: ParseError[] = [];
  const tolerated = parseTree(text, tolerant, { allowTrailingComma: true, disallowComments: false });
  const [first] = tolerant;
  if (first !== undefined || tolerated === undefined) {
    const { line, column } = placeOf(first?.offset ?? 0);
    const what = first === undefined ? "the file is empty" : describeError(first);
    return { error: { message: `is not valid JSON: ${what}`, line, column } };
  }
  if (strict.some(({ error }) => error === INVALID_COMMENT)) notes.push("comments were tolerated");
  if (strict.some(({ error }) => error !== INVALID_COMMENT)) notes.push("trailing commas were tolerated");
  return {
    root: convert(strict.length === 0 && root !== undefined ? root : tolerated, text, placeOf),
    notes,
  };
}

function describeError({ error, offset }: ParseError): string {
  const words = loadJsonc()
    .printParseErrorCode(error)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ");
  return `${words.toLowerCase()} at offset ${offset}`;
}

/** The parser recurses, so depth is looked at first, without recursion. */
function isTooDeep(text: string): boolean {
  const scanner = loadJsonc().createScanner(text, true);
  let depth = 0;
  // SyntaxKind: 1 and 3 open, 2 and 4 close, 17 is the end.
  for (let kind: number = scanner.scan(); kind !== 17; kind = scanner.scan()) {
    if (kind === 1 || kind === 3) depth++;
    else if (kind === 2 || kind === 4) depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function convert(node: Node, text: string, placeOf: (offset: number) => { line: number }): SourceNode {
  const located = {
    line: placeOf(node.offset).line,
    text: text.slice(node.offset, node.offset + node.length),
  };
  switch (node.type) {
    case "object": {
      const members = (node.children ?? []).map(({ children: [key, value] = [] }): Member => {
        const { value: name, offset } = key as Node;
        return {
          key: String(name),
          line: placeOf(offset).line,
          value: convert(value as Node, text, placeOf),
        };
      });
      return { ...located, kind: "object", members };
    }
    case "array":
      return {
        ...located,
        kind: "list",
        items: (node.children ?? []).map((item) => convert(item, text, placeOf)),
      };
    case "string":
      return { ...located, kind: "string", value: node.value as string };
    case "number":
      return { ...located, kind: "number", value: node.value as number };
    case "boolean":
      return { ...located, kind: "boolean", value: node.value as boolean };
    case "null":
      return { ...located, kind: "null" };
    default:
      return { ...located, kind: "other", what: `a ${node.type}` };
  }
}
