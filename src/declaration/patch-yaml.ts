// Carries the changes of a YAML document back into its text, and touches no other byte: comments, quotes and blank lines of what was
// not changed stay. The result is parsed again; should it not say what the document says, nothing is changed.

import {
  Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  YAMLMap,
  YAMLSeq,
} from "yaml";

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/**
 * `before`: parsed from `text` and untouched; `after`: parsed from the same text and changed. Undefined when the change cannot be made without
 * touching other bytes.
 */
export function patchYaml(text: string, before: Document.Parsed, after: Document.Parsed): string | undefined {
  const patched = applyPatch(text, before, after);
  if (patched !== undefined && saysTheSame(patched, after)) return patched;
  // Nothing of others is in it.
  const isEmpty = isMap(after.contents) && after.contents.items.length === 0;
  return isEmpty ? after.toString({ lineWidth: 0, flowCollectionPadding: false }) : undefined;
}

function saysTheSame(text: string, after: Document.Parsed): boolean {
  const document = parseDocument(text);
  return document.errors.length === 0 && JSON.stringify(document.toJS()) === JSON.stringify(after.toJS());
}

function applyPatch(text: string, before: Document.Parsed, after: Document.Parsed): string | undefined {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  let edits: Edit[] | undefined;
  try {
    if (before.contents === null && after.contents !== null)
      edits = [{ from: text.length, to: text.length, insert: render(after.contents as Node, 0) }];
    else edits = patchNode(text, before.contents, after.contents);
  } catch {
    return undefined; // an alias cannot be printed without its anchor; the whole document can
  }
  let result = text;
  // From the end, so that offsets stay true; at one place the outer addition first, so that the inner one comes to stand before it.
  for (const { from, to, insert } of (edits ?? [])
    .toReversed()
    .toSorted((one, other) => other.from - one.from)) {
    const head = result.slice(0, from);
    const gap = insert !== "" && head !== "" && !head.endsWith("\n") && from === to ? "\n" : "";
    result = head + (gap + insert).replaceAll("\n", newline) + result.slice(to);
  }
  return edits === undefined ? undefined : result;
}

/** The edits that make `before` into `after`, or undefined when only a new print can. */
function patchNode(text: string, before: unknown, after: unknown): Edit[] | undefined {
  if (isSame(before, after)) return [];
  if (!isCollection(before) || !isCollection(after) || before.flow === true || after.flow === true)
    return undefined;
  if (before.items.length === 0 || !hasSameHead(before, after)) return undefined;
  if (isMap(before) && isMap(after)) return patchMap(text, before, after);
  if (isSeq(before) && isSeq(after)) return patchList(text, before, after);
  return undefined;
}

function patchMap(text: string, before: YAMLMap, after: YAMLMap): Edit[] | undefined {
  const edits: Edit[] = [];
  const rest = [...after.items];
  for (const pair of before.items) {
    const isNext = rest[0] !== undefined && keyOf(rest[0]) === keyOf(pair);
    if (!isNext && after.items.some((other) => keyOf(other) === keyOf(pair))) return undefined; // another order
    const edit = isNext ? patchPair(text, pair, rest.shift() as Pair) : deletePair(text, pair);
    if (edit === undefined) return undefined;
    edits.push(...edit);
  }
  if (rest.length === after.items.length) return undefined; // nothing is left to stand beside
  const column = columnOf(text, (before.items[0]?.key as Node | undefined)?.range?.[0] ?? 0);
  const insert = rest.map((pair) => render(pair, column)).join("");
  return insert === "" ? edits : [...edits, insertAfter(text, before, insert)];
}

function patchPair(text: string, before: Pair, after: Pair): Edit[] | undefined {
  if (!isSame(before.key, after.key)) return undefined;
  const edits = patchNode(text, before.value, after.value);
  if (edits !== undefined) return edits;
  const from = (before.key as Node).range?.[0];
  if (from === undefined) return undefined;
  const to = lineEnd(text, endOf(text, before));
  const printed = render(after, columnOf(text, from));
  const insert = printed.trimStart().replace(/\n$/, text[to - 1] === "\n" ? "\n" : "");
  return [{ from, to, insert }];
}

function deletePair(text: string, pair: Pair): Edit[] | undefined {
  const key = (pair.key as Node).range?.[0];
  if (key === undefined) return undefined;
  const from = text.lastIndexOf("\n", key - 1) + 1;
  if (text.slice(from, key).trim() !== "") return undefined; // it shares its line
  return [{ from, to: lineEnd(text, endOf(text, pair)), insert: "" }];
}

function patchList(text: string, before: YAMLSeq, after: YAMLSeq): Edit[] | undefined {
  const edits: Edit[] = [];
  for (const [index, item] of before.items.entries()) {
    const edit = index < after.items.length ? patchNode(text, item, after.items[index]) : undefined;
    if (edit === undefined) return undefined;
    edits.push(...edit);
  }
  const column = columnOf(text, before.range?.[0] ?? 0);
  const added = after.items.slice(before.items.length);
  if (added.length === 0) return edits;
  const list = new YAMLSeq();
  list.items.push(...added);
  return [...edits, insertAfter(text, before, render(list, column))];
}

function insertAfter(text: string, node: unknown, insert: string): Edit {
  const at = lineEnd(text, endOf(text, node));
  return { from: at, to: at, insert };
}

/** The start of the line after `at`; `at` itself when a line starts there. */
function lineEnd(text: string, at: number): number {
  if (at > 0 && text[at - 1] === "\n") return at;
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end + 1;
}

/** Where the last character of a node is, without the comments and blank lines behind it. */
function endOf(text: string, node: unknown): number {
  if (isCollection(node) && node.flow !== true) {
    const last = node.items.at(-1);
    return last === undefined ? (node.range?.[1] ?? 0) : endOf(text, last);
  }
  if (typeof node === "object" && node !== null && "key" in node) {
    const { key, value } = node as Pair;
    const [start = 0, end = 0] = (value as Node | null)?.range ?? [0, 0];
    const isEmpty = value === null || start === end;
    return isEmpty ? text.indexOf(":", (key as Node).range?.[1] ?? 0) + 1 : endOf(text, value);
  }
  return (node as Node).range?.[1] ?? 0;
}

function columnOf(text: string, at: number): number {
  return at - (text.lastIndexOf("\n", at - 1) + 1);
}

function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : String(key);
}

function render(node: Node | Pair, column: number): string {
  const document = new Document();
  if ("key" in node) {
    const map = new YAMLMap();
    map.items.push(node);
    document.contents = map as never;
  } else document.contents = node as never;
  const printed = document.toString({ lineWidth: 0, flowCollectionPadding: false });
  return printed.replaceAll(/^(?=.)/gm, " ".repeat(column));
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (isScalar(one) && isScalar(other))
    return Object.is(one.value, other.value) && one.type === other.type && hasSameHead(one, other);
  if (isAlias(one) && isAlias(other)) return one.source === other.source && hasSameHead(one, other);
  if (!isCollection(one) || !isCollection(other)) return false;
  if (isMap(one) !== isMap(other) || one.flow !== other.flow || one.items.length !== other.items.length)
    return false;
  if (!hasSameHead(one, other)) return false;
  return one.items.every((item, index) => {
    const match = other.items[index];
    if (!isMap(one)) return isSame(item, match);
    const { key, value } = item as Pair;
    const { key: otherKey, value: otherValue } = match as Pair;
    return isSame(key, otherKey) && isSame(value, otherValue);
  });
}

/** Tag, anchor and comments. */
function hasSameHead(one: Node, other: Node): boolean {
  return (["tag", "anchor", "comment", "commentBefore"] as const).every(
    (name) => Reflect.get(one, name) === Reflect.get(other, name),
  );
}
