// Chunks to short lines, with bounded memory whatever arrives.

const MAX_LINE_BYTES = 128;

/** Returns a sink for chunks. `onLine` gets `undefined` once for a line that is too long. */
export function createLineReader(onLine: (line: string | undefined) => void): (chunk: Buffer) => void {
  let rest = "";
  let skipping = false;
  return (chunk) => {
    const parts = (rest + chunk.toString("latin1")).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      if (skipping) skipping = false;
      else onLine(part.length > MAX_LINE_BYTES ? undefined : part);
    }
    if (rest.length <= MAX_LINE_BYTES) return;
    if (!skipping) onLine(undefined);
    skipping = true;
    rest = "";
  };
}
