// What was thrown, in words. Must never throw itself: anything can be thrown, also what cannot be told.

export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return "something that cannot be told was thrown";
  }
}

/** As an `Error`, the value itself as its cause where it is none. */
export function asError(error: unknown): Error {
  try {
    if (error instanceof Error && typeof error.message === "string") return error;
  } catch {
    // A Proxy that does not want to be asked, an error that does not want to be read.
  }
  return new Error(messageOf(error), { cause: error });
}

/** `instanceof`, also of a Proxy that does not want to be asked: then it is none. */
export function isInstance<Type>(
  value: unknown,
  type: abstract new (...args: never[]) => Type,
): value is Type {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}
