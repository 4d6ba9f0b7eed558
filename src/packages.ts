// Packages that are loaded when they are first used, where nothing can wait for them: importing this library must stay quick. Each can be
// loaded by `require`, at any time; what the library loads while a caller waits anyway is imported as usual.

import { createRequire } from "node:module";
import type { z as Zod } from "zod";

const load = createRequire(import.meta.url);

/** The same value each time: `get` is called once, at the first. */
function late<T>(get: () => T): () => T {
  let got: { readonly value: T } | undefined;
  return () => {
    got ??= { value: get() };
    return got.value;
  };
}

export const loadRe2 = late(() => (load("re2js") as typeof import("re2js")).RE2JS);
export const loadYaml = late(() => load("yaml") as typeof import("yaml"));
export const loadJsonc = late(() => load("jsonc-parser") as typeof import("jsonc-parser"));

let zod: typeof Zod | undefined;

/** To be called with zod where it is imported anyway, so that one copy serves all. */
export function offerZod(imported: typeof Zod): void {
  zod ??= imported;
}

/** As `offerZod`, where there is time. */
export async function importZod(): Promise<void> {
  if (zod === undefined) offerZod((await import("zod")).z);
}

/** A schema, or several, built when first asked for. */
export function lateSchema<T>(build: (z: typeof Zod) => T): () => T {
  return late(() => {
    zod ??= (load("zod") as typeof import("zod")).z;
    return build(zod);
  });
}
