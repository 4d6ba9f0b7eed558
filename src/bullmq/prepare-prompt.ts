// What the agent of a flow's parent is asked: its prompt, with what its children said filled in. Their words are data of other agents: a
// guard must not trust the parent more for them.

import type { AgentJob } from "./job-data.ts";
import type { Job } from "./load-bullmq.ts";
import type { JobOutcome } from "./outcome.ts";

/** A child of a flow that has ended. */
export interface ChildOutcome {
  /** As the flow names it. */
  readonly name: string;
  readonly jobId: string;
  /** Not there for a child that failed: then `failedReason` says why. */
  readonly outcome?: JobOutcome;
  readonly failedReason?: string;
}

export type PreparePrompt = (
  job: AgentJob,
  context: { readonly jobId: string; readonly name: string; readonly children: readonly ChildOutcome[] },
) => string | Promise<string>;

/** `{{children}}`: all of them as JSON; `{{children.NAME.FIELD}}`: one field of one, empty when it has none. Nothing else is touched. */
export const fillPrompt: PreparePrompt = ({ prompt }, { children }) =>
  prompt.replaceAll(
    /\{\{children(?:\.([A-Za-z0-9_-]+)\.([A-Za-z]+))?\}\}/g,
    (_whole, name?: string, field?: string) => {
      if (name === undefined || field === undefined) return JSON.stringify(children, undefined, 2);
      const child = children.find((it) => it.name === name);
      const fields: Record<string, unknown> = { ...child, ...child?.outcome };
      const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
      return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
    },
  );

/** Children of a job that have ended, completed ones first. Empty for a job without any. */
export async function readChildren(
  job: Job,
  getJob: (jobId: string) => Promise<Job | undefined>,
): Promise<ChildOutcome[]> {
  const idOf = (key: string) => key.slice(key.lastIndexOf(":") + 1);
  const nameOf = async (jobId: string) => (await getJob(jobId))?.name ?? jobId;
  const values = (await job.getChildrenValues<JobOutcome>()) ?? {};
  const failures = (await job.getIgnoredChildrenFailures()) ?? {};
  return [
    ...(await Promise.all(
      Object.entries(values).map(async ([key, outcome]): Promise<ChildOutcome> => {
        const jobId = idOf(key);
        return { name: await nameOf(jobId), jobId, outcome };
      }),
    )),
    ...(await Promise.all(
      Object.entries(failures).map(async ([key, failedReason]): Promise<ChildOutcome> => {
        const jobId = idOf(key);
        return { name: await nameOf(jobId), jobId, failedReason };
      }),
    )),
  ];
}
