// One tree for JSON, TOML and YAML: values with the line and the exact text they came from. Members are a list, so that a key that
// stands twice is seen twice, and a key such as __proto__ is a key like any other.

export type SourceNode = Located &
  (
    | { readonly kind: "object"; readonly members: readonly Member[] }
    | { readonly kind: "list"; readonly items: readonly SourceNode[] }
    | { readonly kind: "string"; readonly value: string }
    | { readonly kind: "number"; readonly value: number }
    | { readonly kind: "boolean"; readonly value: boolean }
    | { readonly kind: "null" }
    /** A value that JSON does not have; `what` names it. */
    | { readonly kind: "other"; readonly what: string }
  );

interface Located {
  /** 1-based. */
  readonly line: number;
  /** The exact text in the file. */
  readonly text: string;
}

export interface Member {
  readonly key: string;
  readonly line: number;
  readonly value: SourceNode;
}

export type ParsedSource =
  | { readonly root: SourceNode | undefined; readonly notes: readonly string[] }
  | { readonly error: SourceError };

export interface SourceError {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** Deepest nesting that is read. Hooks need six levels. */
export const MAX_DEPTH = 200;
export const TOO_DEEP = `nested more than ${MAX_DEPTH} levels deep`;

/** The last member with this key: what a parser that knows no duplicates would see. */
export function memberOf(node: SourceNode, key: string): Member | undefined {
  return node.kind === "object" ? node.members.findLast((member) => member.key === key) : undefined;
}

/** Keys that stand more than once, each named once. */
export function duplicateKeys(members: readonly Member[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { key } of members) (seen.has(key) ? twice : seen).add(key);
  return [...twice];
}

/** A value in words, for messages. Long ones are cut. */
export function describeNode(node: SourceNode): string {
  if (node.kind === "object") return "an object";
  if (node.kind === "list") return "a list";
  if (node.kind === "other") return node.what;
  if (node.kind === "null") return "null";
  return quote(node.value);
}

export function quote(value: string | number | boolean): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/** Finds lines and columns of offsets; both 1-based. */
export function createLineFinder(text: string): (offset: number) => { line: number; column: number } {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] as number) + 1 };
  };
}

/** `path.key`, or `path["odd key"]`. */
export function joinPath(path: string, key: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
