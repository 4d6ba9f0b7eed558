// What kind of line it is, from its first bytes and without parsing it. Both CLIs print `type` first on all lines but claude's `result`.

const PREFIX = Buffer.from('{"type":"');
const QUOTE = 0x22;
/** Longest type that is looked for. */
const NAME_BYTES = 32;

/** Bytes of a line after which its type is known, if it is known at all. */
export const TYPE_BYTES = PREFIX.length + NAME_BYTES + 1;

/** `type` is not the first key: only parsing tells. */
export const UNTOLD = -1;
/** A type, but none of the names. */
export const OTHER = -2;

/** Returns the index of the line's type among `names`, `OTHER` or `UNTOLD`. Takes no part of the bytes. */
export function createTypeReader(
  names: readonly string[],
): (bytes: Buffer, start: number, end: number) => number {
  const known = names.map((name) => Buffer.from(name));
  return (bytes, start, end) => {
    const from = start + PREFIX.length;
    if (end <= from) return UNTOLD;
    for (let at = 0; at < PREFIX.length; at++) if (bytes[start + at] !== PREFIX[at]) return UNTOLD;
    for (let index = 0; index < known.length; index++) {
      const name = known[index] as Buffer;
      let at = 0;
      while (at < name.length && bytes[from + at] === name[at]) at++;
      if (at === name.length && bytes[from + at] === QUOTE && from + at < end) return index;
    }
    const last = Math.min(end, from + NAME_BYTES + 1);
    for (let at = from; at < last; at++) if (bytes[at] === QUOTE) return OTHER;
    return UNTOLD;
  };
}
