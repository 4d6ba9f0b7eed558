// The same chain of the corpus, started at every call and asked as persistent guards: what was said comes to the same.

import { expect, test } from "vitest";
import { runChain } from "../../src/broker/chain.ts";
import { closeChainSession, createChainSession } from "../../src/broker/chain-session.ts";
import type { CompiledCommand } from "../../src/compiler/plan.ts";
import { parseJsonObject } from "../../src/json.ts";
import { findDuplicatedKey } from "../../src/profile/decision-keys.ts";
import type { Envelope } from "../../src/profile/envelope-types.ts";
import { chainTerms, commandEntryOf, SHELL_CALL } from "../broker/chain-support.ts";
import { type Behaviour, CORPUS, type Pair } from "./corpus.ts";

const ONE_SHOT = 'printf "%s" "$SAY"; printf "%s" "$SAY_ERR" >&2; exit "$END"';
/** The id is a UUID and comes first. */
const PERSISTENT = `while read -r line; do
  id=\${line#*:?}; id=\${id%%,*}; id=\${id%?}
  printf '{"id":"%s"%s}\\n' "$id" "$WORD"
done`;

/** What a guard that stays can say too: an object or nothing with exit 0, or exit 2. Text that is no object is no word of the protocol. */
function isSayable({ stdout = "", end = 0 }: Behaviour): boolean {
  if (end === 2) return true;
  const text = stdout.trim();
  return (
    end === 0 &&
    (text === "" || (parseJsonObject(text) !== undefined && findDuplicatedKey(text) === undefined))
  );
}

const wordOf = ({ stdout = "", stderr = "", end = 0 }: Behaviour) =>
  end === 2
    ? `,"block":${JSON.stringify(stderr)}`
    : stdout.trim() === ""
      ? ""
      : `,"answer":${JSON.stringify(parseJsonObject(stdout.trim()))}`;

function entryOf({ event }: Pair, behaviour: Behaviour, persistent: boolean): CompiledCommand {
  const { stdout = "", stderr = "", end = 0, onFailure = "closed", grants = false, matcher } = behaviour;
  // A block has no answer beside it, and what a guard prints that exits 2 is ignored.
  const said = end === 2 ? "" : stdout;
  const env: Record<string, string> = persistent
    ? { WORD: wordOf(behaviour) }
    : { SAY: said, SAY_ERR: stderr, END: String(end) };
  const argv = ["/bin/sh", "-c", persistent ? PERSISTENT : ONE_SHOT];
  return {
    ...commandEntryOf(argv, { env, onFailure, grants, matcher }),
    event,
    ...(persistent ? { persistent } : {}),
  };
}

async function play(pair: Pair, persistent: boolean) {
  const session = createChainSession();
  const envelope: Envelope = { ...SHELL_CALL, hook_event_name: pair.event, tool_input: pair.input };
  const { verdict, said, steps } = await runChain({
    ...chainTerms(session),
    event: pair.event,
    envelope,
    entries: pair.hooks.map((behaviour) => entryOf(pair, behaviour, persistent)),
    deadlineMs: 60_000,
    onStep: () => {},
  });
  await closeChainSession(session);
  const told = steps.map(({ decision, failed, matched, outputKeys, notes }) => ({
    decision,
    failed,
    matched,
    outputKeys,
    notes: notes.map(({ code }) => code),
  }));
  return { verdict, said, told };
}

const pairs = CORPUS.filter(({ hooks }) => hooks.every(isSayable));

test("most of the corpus can be said by a guard that stays", () => {
  expect(pairs.length).toBeGreaterThan(100);
});

test("every chain that can comes to the same verdict, context, notes and steps", {
  timeout: 120_000,
}, async () => {
  for (const pair of pairs)
    expect([pair.name, await play(pair, true)]).toEqual([pair.name, await play(pair, false)]);
});
