// Lines the pinned CLIs printed against the scripted model, with long fields cut out: claude 2.1.332, codex 0.171.0.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Provider } from "../../src/profile/events.ts";
import type { StreamEvent } from "../../src/render/provider.ts";
import { adapterFor } from "../../src/render/registry.ts";

/** The events of a whole captured run. */
export function parseCaptured(provider: Provider, name: string): StreamEvent[] {
  const text = readFileSync(join(import.meta.dirname, provider, "captured", `${name}.jsonl`), "utf8");
  const parser = adapterFor(provider).createStreamParser();
  return [
    ...text
      .trimEnd()
      .split("\n")
      .flatMap((line) => parser.push(line)),
    ...parser.end(),
  ];
}
