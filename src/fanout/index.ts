// agent-bridle/fanout: many tasks, each an agent's run. The public list, nothing else.

export { type FanOut, fanOut, fanOutFile } from "./fan-out.ts";
export {
  type CompileHooks,
  DEFAULT_FAN_OUT,
  type FanOutOptions,
  type FanOutProgress,
  type KeepWorktree,
  type TaskEnding,
} from "./options.ts";
export { outcomesPath, writeEndings } from "./outcomes.ts";
export {
  type ListedFanOut,
  listFanOuts,
  type ReadFanOutOptions,
  readEndings,
  readFanOut,
  readNote,
} from "./read-fan-out.ts";
export { readTasks } from "./read-tasks.ts";
export type { AttemptRecord, FanOutRecord, TaskOutcome, TaskRecord } from "./record.ts";
export type { FanOutTask, PlacedTask } from "./task.ts";
