// Notes the turns and the tool calls of a run as its agent tells them: names, ids and times. Never what a call was given or what came of it.

import type { AgentEventBody } from "../spawn/events.ts";
import type { Life } from "../spawn/life.ts";
import type { RunEvent } from "../spawn/settle-machine.ts";
import type { ReceiptWriter } from "./writer.ts";

/** A model may call a tool what it likes: a receipt stays a line. In UTF-16 units. */
const NAME_MAX = 100;
/** Calls whose end is waited for; an agent has far fewer under way. */
const OPEN_MAX = 4096;

export interface WorkNotes {
  /** The same life, whose turns are noted. */
  watch(life: Life): Life;
  /** To be called with every event of the agent. */
  note(event: AgentEventBody): void;
}

export function noteWork(receipts: Pick<ReceiptWriter, "write">): WorkNotes {
  let turn = 0;
  let isOpen = false;
  /** Calls that were noted and have not ended, by id. What ends without having begun is another's, or a line that says nothing new. */
  const open = new Set<string>();
  const takeOpen = (id: string | undefined) => id === undefined || open.delete(cut(id));
  const begin = () => {
    if (isOpen) return;
    isOpen = true;
    turn += 1;
    receipts.write({ kind: "turn", turn, state: "started" });
  };
  const noteLife = (event: RunEvent) => {
    if (event.type === "prompt_handed_over" || event.type === "turn_started") begin();
    if (event.type !== "final_message" || !isOpen) return;
    isOpen = false;
    receipts.write({ kind: "turn", turn, state: "ended", status: event.message.status });
  };
  return {
    watch: (life) => ({
      ...life,
      get state() {
        return life.state;
      },
      send(event) {
        noteLife(event);
        life.send(event);
      },
    }),
    note(event) {
      if (event.type === "tool_call") {
        if (event.id !== undefined && open.size < OPEN_MAX) open.add(cut(event.id));
        receipts.write({ kind: "tool_called", tool_name: cut(event.name), ...idOf(event) });
      } else if (event.type === "tool_result" && takeOpen(event.id)) {
        const { name, denied, isError } = event;
        const named = name === undefined ? {} : { tool_name: cut(name) };
        receipts.write({ kind: "tool_ended", ...named, ...idOf(event), denied, failed: isError });
      }
    },
  };
}

function idOf({ id }: { readonly id?: string }): { tool_use_id?: string } {
  return id === undefined ? {} : { tool_use_id: cut(id) };
}

function cut(text: string): string {
  return text.slice(0, NAME_MAX);
}
