import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ConversationItem, locate } from "../../src/prove/conversation.ts";
import {
  indexScripts,
  type ModelScript,
  planCalls,
  scriptToken,
  stepForTurn,
} from "../../src/prove/script.ts";

const shell = (command: string) => ({ kind: "shell", command }) as const;
const script: ModelScript = [
  { tools: [shell("a"), shell("b")] },
  { text: "thinking" },
  { tools: [shell("c")] },
];

function turnOf(items: readonly ConversationItem[], scripts = { TOKEN: script }) {
  return locate(items, indexScripts(scripts))?.turn;
}

describe("locate", () => {
  const prompt: ConversationItem = { from: "outside", text: "please TOKEN now" };
  const [first, second] = planCalls(indexScripts({ TOKEN: script }).get("TOKEN") as never, 0).map(
    ({ id }) => id,
  );
  const call = (callId = ""): ConversationItem => ({ from: "model", callId });
  const result = (callId = ""): ConversationItem => ({ from: "tool", callId, text: "ok" });

  it("finds nothing in a conversation without a token", () => {
    expect(turnOf([{ from: "outside", text: "hello" }])).toBeUndefined();
  });

  it("ignores a token that the model or a tool said", () => {
    expect(turnOf([{ from: "tool", callId: "x", text: "TOKEN" }, { from: "model" }])).toBeUndefined();
  });

  it("starts at the prompt, whatever came before it", () => {
    expect(turnOf([{ from: "model" }, { from: "outside", text: "context" }, prompt])).toBe(0);
  });

  it("counts parallel calls of one answer as one turn", () => {
    expect(turnOf([prompt, call(first), call(second), result(first), result(second)])).toBe(1);
  });

  it("counts an answer once when the CLI tears its calls apart", () => {
    expect(
      turnOf([prompt, { from: "model" }, call(first), result(first), call(second), result(second)]),
    ).toBe(1);
  });

  it("is not moved by context that hooks add", () => {
    const context: ConversationItem = { from: "outside", text: "added by a hook" };
    expect(turnOf([prompt, context, call(first), context, result(first), context])).toBe(1);
  });

  it("keeps counting when a hook quotes the prompt", () => {
    expect(turnOf([prompt, call(first), result(first), { from: "outside", text: "you said: TOKEN" }])).toBe(
      1,
    );
  });

  it("counts text answers that a Stop hook sent back", () => {
    const again: ConversationItem = { from: "outside", text: "go on" };
    expect(turnOf([prompt, { from: "model" }, again, { from: "model" }, again])).toBe(2);
  });

  it("follows the token that came last", () => {
    const scripts = { TOKEN: script, OTHER: script };
    const items: ConversationItem[] = [prompt, { from: "model" }, { from: "outside", text: "now OTHER" }];
    expect(locate(items, indexScripts(scripts))?.script.token).toBe("OTHER");
    expect(turnOf(items, scripts)).toBe(0);
  });

  it("prefers the longer of two tokens at one place", () => {
    const items: ConversationItem[] = [{ from: "outside", text: "TOKEN-2" }];
    expect(locate(items, indexScripts({ TOKEN: script, "TOKEN-2": script }))?.script.token).toBe("TOKEN-2");
  });

  it("recognises turns by ids that the script chose", () => {
    const scripts = {
      TOKEN: [{ tools: [{ ...shell("a"), id: "one" }] }, { tools: [{ ...shell("b"), id: "two" }] }],
    };
    expect(turnOf([prompt, call("one"), result("one"), call("two"), result("two")], scripts)).toBe(2);
  });

  it("gives turn N after N answers, for any script", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ text: fc.boolean(), calls: fc.nat(3), context: fc.boolean() }), {
          maxLength: 12,
        }),
        (answers) => {
          const any: ModelScript = answers.map(({ calls }) => ({ tools: Array(calls).fill(shell("x")) }));
          const index = indexScripts({ TOKEN: any });
          const items: ConversationItem[] = [prompt];
          answers.forEach(({ text, context }, turn) => {
            const calls = planCalls(index.get("TOKEN") as never, turn);
            if (text || calls.length === 0) items.push({ from: "model" });
            items.push(...calls.map(({ id }) => call(id)), ...calls.map(({ id }) => result(id)));
            if (context || calls.length === 0) items.push({ from: "outside", text: "context" });
          });
          expect(locate(items, index)?.turn).toBe(answers.length);
        },
      ),
    );
  });
});

describe("stepForTurn", () => {
  it("repeats a tool loop for its turns, then goes on", () => {
    const looped: ModelScript = [
      { tools: [shell("x")], fault: { kind: "tool-loop", turns: 3 } },
      { text: "after" },
    ];
    const steps = [0, 1, 2, 3, 4].map((turn) => stepForTurn(looped, turn)?.stepIndex);
    expect(steps).toEqual([0, 0, 0, 1, undefined]);
  });

  it("repeats an endless tool loop, each turn with ids of its own", () => {
    const endless: ModelScript = [
      { tools: [{ ...shell("x"), id: "mine" }, shell("y")], fault: { kind: "tool-loop" } },
    ];
    const index = indexScripts({ TOKEN: endless }).get("TOKEN");
    const ids = [0, 1, 999].flatMap((turn) => planCalls(index as never, turn).map(({ id }) => id));
    expect(new Set(ids).size).toBe(6);
  });
});

describe("indexScripts", () => {
  it("gives every subagent a token of its own", () => {
    const child = { kind: "agent", prompt: "help", script: [{ tools: [shell("x")] }] } as const;
    const grandparent = { kind: "agent", prompt: "help", script: [{ tools: [child] }] } as const;
    expect(indexScripts({ [scriptToken("a")]: [{ tools: [child, child, grandparent] }] }).size).toBe(5);
  });

  it("refuses a blank token, which every prompt would contain", () => {
    expect(() => indexScripts({ " ": [] })).toThrow(/token/);
  });
});
