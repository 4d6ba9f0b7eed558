// Whether what a caller declares can be read like a file's: values that are there, and stay as they were checked. Must never run what is in it:
// a getter or a Proxy could throw, or answer once to the check and otherwise to the run.

import { types } from "node:util";

/** A place in the declaration, and what is there. */
export interface Living {
  /** `[0].hooks[1].url`; empty for the value itself. */
  readonly at: string;
  readonly what: "a getter" | "a Proxy" | "a function that cannot be named";
}

/** The first one in it; undefined when all of it is plain. Functions are not looked into. */
export function findLiving(value: unknown): Living | undefined {
  const seen = new Set<object>();
  const left: { at: string; value: unknown }[] = [{ at: "", value }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { at, value: one } = next;
    if (typeof one === "function" && !canBeNamed(one)) return { at, what: "a function that cannot be named" };
    if (typeof one !== "object" || one === null || seen.has(one)) continue;
    seen.add(one);
    if (types.isProxy(one)) return { at, what: "a Proxy" };
    const inherited = findInheritedGetter(one, at);
    if (inherited !== undefined) return inherited;
    const inner: typeof left = [];
    for (const key of Reflect.ownKeys(one)) {
      const field = Reflect.getOwnPropertyDescriptor(one, key);
      const place = join(at, key, one);
      if (field?.get !== undefined || field?.set !== undefined) return { at: place, what: "a getter" };
      inner.push({ at: place, value: field?.value });
    }
    left.push(...inner.reverse());
  }
  return undefined;
}

/** Of an instance of a class: its getters stand in the prototype. What every object or list has is the language's own. */
function findInheritedGetter(value: object, at: string): Living | undefined {
  let prototype: object | null = Object.getPrototypeOf(value);
  while (prototype !== null) {
    if (types.isProxy(prototype)) return { at, what: "a Proxy" };
    const above: object | null = Object.getPrototypeOf(prototype);
    if (above === null) return undefined;
    for (const key of Reflect.ownKeys(prototype))
      if (Reflect.getOwnPropertyDescriptor(prototype, key)?.get !== undefined)
        return { at: join(at, key, value), what: "a getter" };
    prototype = above;
  }
  return undefined;
}

/** Compile asks a handler for its name, and for its text. */
function canBeNamed(handler: { readonly name: unknown }): boolean {
  try {
    return typeof handler.name === "string" && typeof handler.toString() === "string";
  } catch {
    return false; // it throws: nobody could name it
  }
}

function join(at: string, key: PropertyKey, inside: object): string {
  return Array.isArray(inside) && /^\d+$/.test(String(key))
    ? `${at}[${String(key)}]`
    : `${at}.${String(key)}`;
}
