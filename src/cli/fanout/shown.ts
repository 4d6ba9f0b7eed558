// What bridle fanout shows while it runs.

import type { FanOutProgress } from "../../fanout/index.ts";
import { drawView } from "./draw.ts";
import { describeProgress } from "./lines.ts";
import { createLiveView } from "./live-view.ts";
import { createProgress } from "./progress.ts";

export interface Shown {
  note(progress: FanOutProgress): void;
  end(): void;
}

const REDRAW_MS = 200;

/** A live view on a terminal, lines elsewhere, JSONL when asked. */
export function createShown(isJson: boolean): Shown {
  const { stdout } = process;
  if (isJson)
    return {
      note: (progress) => (progress.type === "event" ? undefined : showJson(progress)),
      end: () => {},
    };
  if (stdout.isTTY !== true)
    return {
      note(progress) {
        const line = describeProgress(progress);
        if (line !== undefined) stdout.write(`${line}\n`);
      },
      end: () => {},
    };
  const view = createLiveView(stdout);
  const progress = createProgress();
  const isColoured = (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb";
  const draw = () =>
    view.show(
      drawView(progress, { columns: stdout.columns ?? 80, rows: stdout.rows ?? 24, isColoured }, Date.now()),
    );
  const timer = setInterval(draw, REDRAW_MS);
  stdout.on("resize", draw);
  return {
    note(said) {
      progress.note(said, Date.now());
      // What the picture shows anyway is no line above it.
      if (said.type === "attempt_started" || said.type === "event") return;
      const line = describeProgress(said);
      if (line !== undefined) view.print([line.slice(0, Math.max(20, (stdout.columns ?? 80) - 1))]);
    },
    end() {
      clearInterval(timer);
      stdout.off("resize", draw);
      view.clear();
    },
  };
}

export function showJson(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
