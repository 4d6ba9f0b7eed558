import { describe, expect, it } from "vitest";
import { onceATurn } from "../../src/spawn/once-a-turn.ts";

describe("a look once a turn", () => {
  it("is made when it is first asked, and not before", () => {
    const { looks } = counted();
    expect(looks.count).toBe(0);
  });

  it("is made once by code that runs without a break", () => {
    const { look, looks } = counted();
    expect([look(), look(), look()]).toEqual([1, 1, 1]);
    expect(looks.count).toBe(1);
  });

  it("is made again by whoever comes later, be it in a microtask", async () => {
    const { look } = counted();
    const seen = [look()];
    await Promise.resolve();
    seen.push(look(), look());
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(look());
    expect(seen).toEqual([1, 2, 2, 3]);
  });

  it("that throws is made again", () => {
    let count = 0;
    const look = onceATurn(() => {
      count += 1;
      if (count === 1) throw new Error("once");
      return count;
    });
    expect(look).toThrow("once");
    expect(look()).toBe(2);
  });
});

function counted() {
  const looks = { count: 0 };
  const look = onceATurn(() => {
    looks.count += 1;
    return looks.count;
  });
  return { look, looks };
}
