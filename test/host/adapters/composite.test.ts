// How a composite ends: what its failure names and keeps, and that a step cannot change what the next one is given.

import { expect, test } from "vitest";
import { compositeTool, describeForModel, ToolFailure } from "../../../src/host/index.ts";
import { echo, play } from "../support.ts";

test("a step that fails ends it, and the failure names the step and keeps what came before", async () => {
  const { host } = play();
  echo(host, "Read");
  const written = echo(host, "Write");
  host.tools.register({ name: "Check", run: () => Promise.reject(new Error("no such file")) });
  host.tools.register(
    compositeTool({
      name: "All",
      steps: ["Read", "Check", "Write"].map((tool) => ({ tool, input: () => ({ tool }) })),
    }),
  );
  const outcome = await host.tools.invoke("All", {});
  expect(describeForModel(outcome)).toBe("All failed: step 2, Check, failed: no such file");
  expect(written).toEqual([]);
  const { error } = outcome as { error: unknown };
  expect(error).toBeInstanceOf(ToolFailure);
  expect((error as ToolFailure).result).toMatchObject({
    outcome: { status: "failed", tool: "Check" },
    results: [{ echoed: { tool: "Read" } }],
  });
});

test("a step that throws what is no error is named with it, and one that is not registered by its name", async () => {
  const { host } = play();
  host.tools.register({ name: "Odd", run: () => Promise.reject("gone") });
  for (const [tool, text] of [
    ["Odd", "step 1, Odd, failed: gone"],
    ["Nowhere", "step 1, Nowhere, failed: no tool is named Nowhere; known: Odd, OddToo"],
  ] as const) {
    host.tools.registerAll([compositeTool({ name: "OddToo", steps: [{ tool, input: () => ({}) }] })], {
      replacing: ["OddToo"],
    });
    expect(describeForModel(await host.tools.invoke("OddToo", {}))).toBe(`OddToo failed: ${text}`);
  }
});

test("what a step does to the composite's input changes nothing for the next one", async () => {
  const { host } = play();
  const ran = echo(host, "Step");
  host.tools.register(
    compositeTool({
      name: "Twice",
      steps: [
        {
          tool: "Step",
          input: (given) => {
            const { path = null } = given;
            given.path = "/etc/passwd";
            return { path };
          },
        },
        { tool: "Step", input: ({ path = null }) => ({ path }) },
      ],
    }),
  );
  await host.tools.invoke("Twice", { path: "/srv" });
  expect(ran).toEqual([{ path: "/srv" }, { path: "/srv" }]);
});
