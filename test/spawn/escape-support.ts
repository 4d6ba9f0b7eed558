// Ways in which a tool's processes get away from their agent, and a look that finds them whatever they did to their names, their groups and
// their environments: by the directory they work in.

import { readdirSync, readlinkSync } from "node:fs";
import { isAlive, type Place } from "./support.ts";

/** Living processes that work in the place, zombies apart. Pids as seen from here. */
export function livingIn({ home }: Place): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => workingDirectoryOf(pid).startsWith(`${home}/`) && isAlive(pid));
}

function workingDirectoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ""; // ended meanwhile, or another user's
  }
}

export function killAllIn(place: Place): void {
  for (const pid of livingIn(place)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // ended meanwhile
    }
  }
}

export interface Escape {
  /** The command line of the tool. It makes the file `up` when its processes are there. */
  readonly shell: string;
  /** How many processes it leaves, at least. */
  readonly leaves: number;
  /** The tool does not end by itself: the run is stopped while it is under way. */
  readonly isUnderWay?: true;
}

const IGNORES = "trap '' TERM INT HUP; while :; do sleep 1; done";

export const ESCAPES: Readonly<Record<string, Escape>> = {
  "a session of its own": { shell: "setsid sleep 1000 & touch up", leaves: 1 },
  "a daemon, forked twice, that holds the tool's output": {
    shell: "(setsid sh -c 'sleep 1000 & sleep 1000' &); touch up",
    leaves: 3,
  },
  "one that ignores TERM": { shell: `setsid sh -c "${IGNORES}" & touch up`, leaves: 1 },
  "one that is stopped": { shell: "setsid sleep 1000 & kill -STOP $!; touch up", leaves: 1 },
  "a storm of 200": {
    shell: "i=0; while [ $i -lt 200 ]; do setsid sleep 1000 & i=$((i+1)); done; touch up",
    leaves: 200,
  },
  "one whose parent has ended": { shell: "(sleep 1000 &); touch up", leaves: 1 },
  "a session of its own without the marker": {
    shell: "env -i setsid sleep 1000 & touch up; wait",
    leaves: 1,
    isUnderWay: true,
  },
  "one without the marker below one whose parent has ended": {
    shell: "(env -i setsid sleep 1000 & exec sleep 1000) & touch up",
    leaves: 2,
  },
  "a loop under nohup": {
    shell: "nohup sh -c 'while :; do sleep 0.05; done' >/dev/null 2>&1 & touch up",
    leaves: 1,
  },
  "one that renames itself to mislead a reader of the process table": {
    shell:
      "setsid sh -c 'printf \") Z 1 1\\n1 (\" >/proc/$$/comm; touch up; while :; do sleep 1; done' & until [ -e up ]; do sleep 0.01; done",
    leaves: 1,
  },
  "one that starts others while it is being ended": {
    shell: "setsid sh -c 'while :; do (setsid sleep 1000 &); sleep 0.005; done' & touch up",
    leaves: 2,
  },
};

/** The one way that the sweep does not find: no marker, no parent, no group. */
export const KNOWN_HOLE: Escape = {
  shell: "env -i sh -c 'setsid sleep 1000 & exit' & wait; touch up",
  leaves: 1,
};
