// The matrix of ways in. Rule for new rows: every function by which a turn can reach the model is a row, with the disposition that it hands on
// and the number of times that `UserPromptSubmit` fires for the whole of it. A way in that is not here is a prompt that no guard was asked about.

import { expect, test } from "vitest";
import {
  type HookHost,
  type ModelCallContext,
  noOrigin,
  type Origin,
  TurnOrigin,
} from "../../src/host/index.ts";
import { on, play } from "./support.ts";

type Model = (request: { n: number }, context: ModelCallContext) => Promise<{ status: string }>;

interface Way {
  readonly name: string;
  /** Takes a turn through to the model, and returns how it was answered. */
  readonly enter: (host: HookHost, model: Model) => Promise<{ status: string }[]>;
  /** Prompts that are announced, in order. */
  readonly announced: readonly string[];
}

const user = (host: HookHost, prompt = "hello", origin?: Origin) => host.ingress({ prompt, origin });

const MATRIX: readonly Way[] = [
  {
    name: "a user's message",
    enter: async (host, model) => [await model({ n: 1 }, { origin: user(host) })],
    announced: ["hello"],
  },
  {
    name: "a user's message, and the tool loop that it causes",
    enter: async (host, model) => {
      const origin = user(host);
      return [
        await model({ n: 1 }, { origin }),
        await model({ n: 2 }, { origin }),
        await model({ n: 3 }, { origin }),
      ];
    },
    announced: ["hello"],
  },
  {
    name: "a repair turn after output that could not be read",
    enter: async (host, model) => {
      const origin = user(host);
      return [await model({ n: 1 }, { origin }), await model({ n: 2 }, { origin })];
    },
    announced: ["hello"],
  },
  {
    name: "a repair turn of its own",
    enter: async (_host, model) => [await model({ n: 1 }, { origin: noOrigin })],
    announced: [],
  },
  {
    name: "an extension turn",
    enter: async (host, model) => {
      const origin = user(host);
      await model({ n: 1 }, { origin });
      return [await model({ n: 2 }, { origin: host.ingress({ prompt: "go on", origin }) })];
    },
    announced: ["hello"],
  },
  {
    name: "a final-answer turn",
    enter: async (host, model) => {
      const origin = user(host);
      await model({ n: 1 }, { origin });
      return [await model({ n: 9 }, { origin: host.ingress({ prompt: "now answer", origin: noOrigin }) })];
    },
    announced: ["hello"],
  },
  {
    name: "a turn whose disposition an outer layer has settled: the token is carried",
    enter: async (host, model) => {
      const outer = user(host, "outer");
      const inner = user(host, "inner", outer);
      expect(inner).toBe(outer);
      return [await model({ n: 1 }, { origin: inner })];
    },
    announced: ["outer"],
  },
  {
    name: "a turn of the program itself, through two layers",
    enter: async (host, model) => {
      const outer = host.ingress({ prompt: "tick", origin: noOrigin });
      return [await model({ n: 1 }, { origin: host.ingress({ prompt: "tick, inner", origin: outer }) })];
    },
    announced: [],
  },
  {
    name: "two users' messages, one after the other",
    enter: async (host, model) => [
      await model({ n: 1 }, { origin: user(host, "one") }),
      await model({ n: 2 }, { origin: user(host, "two") }),
    ],
    announced: ["one", "two"],
  },
  {
    name: "the same words said twice are two turns",
    enter: async (host, model) => [
      await model({ n: 1 }, { origin: user(host) }),
      await model({ n: 2 }, { origin: user(host) }),
    ],
    announced: ["hello", "hello"],
  },
  {
    name: "three calls at once of one turn (best of three)",
    enter: async (host, model) => {
      const origin = user(host);
      return Promise.all([1, 2, 3].map((n) => model({ n }, { origin })));
    },
    announced: ["hello"],
  },
  {
    name: "a turn that a sub-agent continues in a session of its own",
    enter: async (host, model) => {
      const origin = user(host);
      await model({ n: 1 }, { origin });
      return [await model({ n: 2 }, { origin, sessionId: "sub", agentId: "a1" })];
    },
    announced: ["hello"],
  },
  {
    name: "a turn that a sub-agent begins by itself",
    enter: async (_host, model) => [
      await model({ n: 1 }, { origin: noOrigin, sessionId: "sub", agentId: "a1" }),
    ],
    announced: [],
  },
  {
    name: "a loop without wrapModel that announces by hand",
    enter: async (host) => {
      const origin = user(host);
      await host.runUserPromptSubmit(origin);
      await host.runUserPromptSubmit(origin);
      return [{ status: "ok" }];
    },
    announced: ["hello"],
  },
  {
    name: "a minted turn that never reaches the model",
    enter: async (host) => {
      user(host);
      return [{ status: "ok" }];
    },
    announced: [],
  },
];

test.each(MATRIX)("ingress: $name", async ({ enter, announced }) => {
  const heard: string[] = [];
  const { host } = play({
    inProcess: [on("UserPromptSubmit", ({ prompt }) => void heard.push(String(prompt)))],
  });
  let calls = 0;
  const model = host.wrapModel(() => ++calls);
  const outcomes = await enter(host, model);
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "ok"));
  expect(heard).toEqual(announced);
});

test("ingress: a retry after an error of the model announces nothing again", async () => {
  const heard: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("UserPromptSubmit", ({ prompt }) => void heard.push(prompt)),
      on("ErrorOccurred", () => ({ hookSpecificOutput: { hookEventName: "ErrorOccurred", retry: true } })),
    ],
  });
  const model = host.wrapModel((_request: object, { attempt }) => {
    if (attempt === 1) throw new Error("overloaded");
    return "answer";
  });
  await expect(model({}, { origin: user(host) })).resolves.toMatchObject({ status: "ok", attempts: 2 });
  expect(heard).toEqual(["hello"]);
});

test("ingress: a denied prompt reaches no model, neither now nor with the same token later", async () => {
  let asked = 0;
  let calls = 0;
  const { host } = play({
    inProcess: [
      on("UserPromptSubmit", () => {
        asked += 1;
        return { decision: "block", reason: "not this" };
      }),
    ],
  });
  const model = host.wrapModel(() => ++calls);
  const origin = user(host);
  const denied = { status: "denied", stage: "UserPromptSubmit", reason: "not this", attempts: 0 };
  expect(await Promise.all([model({}, { origin }), model({}, { origin })])).toEqual([denied, denied]);
  expect(await model({}, { origin })).toEqual(denied);
  expect({ asked, calls }).toEqual({ asked: 1, calls: 0 });
});

test("ingress: a hook that throws into the caller is no way past the announcement", async () => {
  let calls = 0;
  const { host } = play({
    inProcess: [
      on(
        "UserPromptSubmit",
        () => {
          throw new Error("down");
        },
        { onFailure: "error" },
      ),
    ],
  });
  const model = host.wrapModel(() => ++calls);
  const origin = user(host);
  await expect(model({}, { origin })).rejects.toThrow("down");
  await expect(model({}, { origin })).rejects.toThrow("down");
  expect(calls).toBe(0);
});

test("ingress: context of the prompt's hooks is told to the first call alone", async () => {
  const { host } = play({
    inProcess: [
      on("UserPromptSubmit", () => ({
        hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "today is Monday" },
      })),
    ],
  });
  const told: (readonly string[])[] = [];
  const model = host.wrapModel((_request: object, { context }) => void told.push(context));
  const origin = user(host);
  await model({}, { origin });
  await model({}, { origin });
  expect(told).toEqual([["today is Monday"], []]);
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["a copy of noOrigin", { kind: "none" }],
  ["a look-alike", Object.create(TurnOrigin.prototype)],
])("ingress: a model call whose origin is %s refuses", async (_name, origin) => {
  const { host } = play({});
  let calls = 0;
  const model = host.wrapModel(() => ++calls);
  await expect(model({}, { origin: origin as Origin })).rejects.toMatchObject({
    issues: [{ code: "token_forged", path: "origin" }],
  });
  expect(calls).toBe(0);
});

test("ingress: another host's token refuses, because other hooks were asked", async () => {
  const one = play().host;
  const other = play().host;
  const model = other.wrapModel(() => 1);
  await expect(model({}, { origin: one.ingress({ prompt: "x" }) })).rejects.toThrow("another host");
  expect(() => other.ingress({ prompt: "x", origin: one.ingress({ prompt: "x" }) })).toThrow("another host");
});

test("ingress: a token cannot be made or copied", () => {
  expect(
    () => new (TurnOrigin as unknown as new (...args: unknown[]) => unknown)(Symbol("mint"), {}),
  ).toThrow("outside host.ingress");
  expect(() => play().host.ingress({ prompt: 7 as unknown as string })).toThrow("prompt must be a string");
});

test("ingress: hooks are told the permission mode of the turn", async () => {
  const heard: unknown[] = [];
  const { host } = play({
    inProcess: [
      on("UserPromptSubmit", ({ prompt, permission_mode }) => void heard.push([prompt, permission_mode])),
    ],
  });
  await host.runUserPromptSubmit(host.ingress({ prompt: "one" }));
  await host.runUserPromptSubmit(host.ingress({ prompt: "two", permissionMode: "plan" }));
  expect(heard).toEqual([
    ["one", "default"],
    ["two", "plan"],
  ]);
});

test("ingress: a token is sealed, and no object around it is one", async () => {
  const { host } = play();
  const origin = host.ingress({ prompt: "hi" });
  expect(Object.isFrozen(origin)).toBe(true);
  for (const forged of [new Proxy(origin, {}), Object.create(origin), { ...origin }])
    await expect(host.wrapModel(() => 1)({}, { origin: forged as Origin })).rejects.toThrow("token_forged");
});
