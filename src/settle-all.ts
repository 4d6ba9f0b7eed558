// Steps that run at the same time, none of which may still be at work when the others are undone.

/** Waits for the end of every step. Resolves with what each gave, or rejects with the error of the first in the list that failed. */
export async function settleAll<Steps extends readonly unknown[] | []>(
  steps: Steps,
): Promise<{ -readonly [Index in keyof Steps]: Awaited<Steps[Index]> }> {
  await Promise.allSettled(steps);
  return Promise.all(steps);
}
