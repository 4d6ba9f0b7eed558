// Looks at the file system that each event of an agent asks for, where many events come at once. Must never pass on what was seen before the
// bytes of an event were read.

/**
 * Calls `look` when it is first asked, and gives the same answer until the running code has returned: all events of one chunk of output are told
 * without a break, and a look behind the reading of the chunk is behind everything that the agent did before it printed them.
 */
export function onceATurn<Seen>(look: () => Seen): () => Seen {
  let seen: { readonly value: Seen } | undefined;
  return () => {
    if (seen === undefined) {
      seen = { value: look() };
      queueMicrotask(() => {
        seen = undefined;
      });
    }
    return seen.value;
  };
}
