// Reads TOML into a source tree. A table may be spread over the file; its text is all of its pieces.

import { type AST, ParseError, parseTOML } from "toml-eslint-parser";
import { MAX_DEPTH, type ParsedSource, type SourceNode, TOO_DEEP } from "./source-tree.ts";

/** A node while tables still come in. */
type Open =
  | { kind: "object"; members: Map<string, { line: number; value: Open }>; line: number; pieces: string[] }
  | { kind: "list"; items: Open[]; line: number; pieces: string[] }
  | { kind: "leaf"; node: SourceNode };

export function parseToml(source: string): ParsedSource {
  const text = source.replace(/^\uFEFF/, "");
  try {
    const [top] = parseTOML(text).body;
    const root = openObject(1);
    for (const { key, value } of top.body.filter((item) => item.type === "TOMLKeyValue"))
      setValue(root, key, value, text);
    for (const table of top.body.filter((item) => item.type === "TOMLTable")) addTable(root, table, text);
    return { root: close(root, 0), notes: [] };
  } catch (error) {
    if (error instanceof RangeError) return { error: { message: TOO_DEEP } };
    if (!(error instanceof ParseError)) throw error;
    const message = `is not valid TOML: ${error.message}`;
    return {
      error: Number.isInteger(error.lineNumber)
        ? { message, line: error.lineNumber, column: error.column + 1 }
        : { message },
    };
  }
}

function openObject(line: number): Open & { kind: "object" } {
  return { kind: "object", members: new Map(), line, pieces: [] };
}

function textOf({ range: [start, end] }: AST.TOMLNode, text: string): string {
  return text.slice(start, end);
}

function addTable(root: Open, table: AST.TOMLTable, text: string): void {
  const { line } = table.loc.start;
  const piece = textOf(table, text);
  let at: Open = root;
  for (const [index, step] of table.resolvedKey.entries()) {
    at = descend(at, step, typeof table.resolvedKey[index + 1] === "number" ? "list" : "object", line);
    if (at.kind !== "leaf") at.pieces.push(piece);
  }
  for (const { key, value } of table.body) setValue(at, key, value, text);
}

/** The child at `step`, made when it is not there. */
function descend(parent: Open, step: string | number, kind: "list" | "object", line: number): Open {
  const made: Open = kind === "list" ? { kind, items: [], line, pieces: [] } : openObject(line);
  if (typeof step === "number" && parent.kind === "list") {
    parent.items[step] ??= made;
    return parent.items[step] as Open;
  }
  if (parent.kind !== "object") throw new Error(`a table of TOML below a ${parent.kind}`); // the parser has refused it before
  const key = String(step);
  const found = parent.members.get(key);
  if (found !== undefined) return found.value;
  parent.members.set(key, { line, value: made });
  return made;
}

function setValue(parent: Open, { keys }: AST.TOMLKey, value: AST.TOMLContentNode, text: string): void {
  const names = keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value));
  const { line } = (keys[0] as AST.TOMLNode).loc.start;
  let at = parent;
  for (const name of names.slice(0, -1)) {
    at = descend(at, name, "object", line);
    if (at.kind !== "leaf") at.pieces.push(textOf(value.parent as AST.TOMLNode, text));
  }
  if (at.kind !== "object") throw new Error(`a value of TOML below a ${at.kind}`); // the parser has refused it before
  at.members.set(names.at(-1) as string, { line, value: convertValue(value, text, 0) });
}

function convertValue(node: AST.TOMLContentNode, text: string, depth: number): Open {
  if (depth > MAX_DEPTH) throw new RangeError(TOO_DEEP);
  const { line } = node.loc.start;
  const located = { line, text: textOf(node, text) };
  if (node.type === "TOMLArray") {
    const items = node.elements.map((item) => convertValue(item, text, depth + 1));
    return { kind: "list", items, line, pieces: [located.text] };
  }
  if (node.type === "TOMLInlineTable") {
    const table = openObject(line);
    table.pieces.push(located.text);
    for (const { key, value } of node.body) setValue(table, key, value, text);
    return table;
  }
  switch (node.kind) {
    case "string":
      return { kind: "leaf", node: { ...located, kind: "string", value: node.value } };
    case "boolean":
      return { kind: "leaf", node: { ...located, kind: "boolean", value: node.value } };
    case "integer":
    case "float":
      return { kind: "leaf", node: { ...located, kind: "number", value: Number(node.value) } };
    default:
      return { kind: "leaf", node: { ...located, kind: "other", what: "a date or a time" } };
  }
}

function close(node: Open, depth: number): SourceNode {
  if (depth > MAX_DEPTH) throw new RangeError(TOO_DEEP);
  if (node.kind === "leaf") return node.node;
  const located = { line: node.line, text: node.pieces.join("\n") };
  if (node.kind === "list")
    return { ...located, kind: "list", items: node.items.map((item) => close(item, depth + 1)) };
  const members = [...node.members].map(([key, { line, value }]) => ({
    key,
    line,
    value: close(value, depth + 1),
  }));
  return { ...located, kind: "object", members };
}
