// Texts of a verdict as both providers can read them. codex takes a reason that is blank in *its* eyes, or JSON with half a
// character, for no answer at all and runs the call (docs/providers/codex.md X-37).

/** Half of a UTF-16 pair has no UTF-8 form; strict JSON readers void the whole answer over one. */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\u{FFFD}");
}

/** The reason of a deny: never blank for any reader (JavaScript's trim keeps U+0085, Rust's does not), without control characters. */
export function sayReason(reason: string): string {
  const readable = wellFormed(reason)
    .replaceAll("\r\n", "\n")
    .replaceAll(/(?![\n\t])\p{Cc}/gu, "\u{FFFD}")
    .replaceAll(/^[\p{White_Space}\p{Cf}]+|[\p{White_Space}\p{Cf}]+$/gu, "");
  return /[^\p{White_Space}\p{C}\u{FFFD}]/u.test(readable) ? readable : "denied";
}
