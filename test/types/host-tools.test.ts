// What the compiler tells a writer of tools and hooks: held by the type check.

import { expect, test } from "vitest";
import { z } from "zod";
import { createHookHost, type HostHook, type HostTool } from "../../src/host/index.ts";

test("a tool's function is given what its zod schema makes of the input", () => {
  const { tools } = createHookHost();
  tools.register({ name: "A", input: z.object({ n: z.number() }), run: ({ n }) => n.toFixed(2) });
  // @ts-expect-error n is a number
  tools.register({ name: "B", input: z.object({ n: z.number() }), run: ({ n }: { n: string }) => n });
  // @ts-expect-error there is no such field
  tools.register({ name: "C", input: z.object({ n: z.number() }), run: ({ wrong }) => wrong });
  tools.register({ name: "D", run: ({ command }: { command: string }) => command });
  tools.register({ name: "E", input: { type: "object" }, run: (input: { any: number }) => input.any });
  const list: HostTool[] = [{ name: "F", run: () => 1 }];
  tools.registerAll(list);
  expect(tools.list()).toHaveLength(6);
});

test("a hook cannot be written for an event that no host fires", () => {
  // @ts-expect-error a host has no agent_exit
  const hook: HostHook = { event: "agent_exit", handler: () => undefined };
  expect(() => createHookHost({ inProcess: [hook] })).toThrow("does not fire agent_exit");
});
