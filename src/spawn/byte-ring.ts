// The last bytes of a stream, in one buffer that grows up to its limit and is then written round and round.

export interface ByteRing {
  push(chunk: Buffer): void;
  /** As text of at most as many UTF-8 bytes as the ring holds. Begins with a whole character. */
  text(): string;
}

const FIRST_BYTES = 4096;

export function createByteRing(limitBytes: number): ByteRing {
  // Grows with what comes: most agents say a line or nothing.
  let ring = Buffer.alloc(0);
  let end = 0;
  let isFull = false;
  const makeRoom = (bytes: number) => {
    const wanted = Math.min(limitBytes, end + bytes);
    if (wanted <= ring.length) return;
    const larger = Buffer.alloc(Math.min(limitBytes, Math.max(wanted, 2 * ring.length, FIRST_BYTES)));
    ring.copy(larger, 0, 0, end);
    ring = larger;
  };
  return {
    push(chunk) {
      const part = chunk.subarray(Math.max(0, chunk.length - limitBytes));
      makeRoom(part.length);
      const fits = part.copy(ring, end);
      part.copy(ring, 0, fits);
      isFull ||= end + part.length >= limitBytes;
      end = (end + part.length) % limitBytes;
    },
    text() {
      const bytes = isFull
        ? Buffer.concat([ring.subarray(end), ring.subarray(0, end)])
        : ring.subarray(0, end);
      return lastBytes(
        isFull ? bytes.toString("utf8", startOfCharacter(bytes, 0)) : bytes.toString("utf8"),
        limitBytes,
      );
    },
  };
}

/** The end of a text, cut between two characters so that it takes at most that many bytes as UTF-8. */
export function lastBytes(text: string, limitBytes: number): string {
  if (text.length * 3 <= limitBytes || Buffer.byteLength(text) <= limitBytes) return text;
  const bytes = Buffer.from(text);
  return bytes.toString("utf8", startOfCharacter(bytes, bytes.length - limitBytes));
}

/** At most three bytes of a cut character are left out; more than that is no UTF-8 anyway. */
function startOfCharacter(bytes: Buffer, from: number): number {
  let at = from;
  while (at < from + 3 && at < bytes.length && ((bytes[at] as number) & 0xc0) === 0x80) at += 1;
  return at;
}
