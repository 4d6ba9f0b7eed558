// Which endings of a fan-out make its exit code 1. Pure.

import { InvalidArgumentError } from "commander";
import type { TaskOutcome } from "../../fanout/index.ts";

/** A number: more than so many percent of the tasks are no success. */
export type FailOn = "any" | "refused" | number;

export function parseFailOn(value: string): FailOn {
  if (value === "any" || value === "refused") return value;
  const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(value)?.[1];
  if (percent !== undefined && Number(percent) <= 100) return Number(percent);
  throw new InvalidArgumentError("any, refused, or a share such as 10%");
}

/** `refused` counts what a guard could not be shown to hold for, too. */
export function isFailed(outcomes: readonly TaskOutcome[], failOn: FailOn): boolean {
  if (failOn === "refused") return outcomes.some((it) => it === "refused" || it === "unenforced");
  const failures = outcomes.filter((it) => it !== "success").length;
  return failOn === "any" ? failures > 0 : failures * 100 > outcomes.length * failOn;
}
