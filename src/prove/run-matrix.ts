// Runs cases several at a time. A case that could not be judged, or failed without a side effect, is tried once more alone: a busy
// machine is no proof against a CLI. One whose side effect was wrong is not.

import { type CaseResult, type RunCaseOptions, runCase } from "./matrix/run-case.ts";
import type { MatrixCase } from "./matrix/schema.ts";

export interface RunMatrixOptions extends RunCaseOptions {
  /** Cases at a time. */
  readonly jobs: number;
  readonly onResult?: (result: CaseResult, done: number, total: number) => void;
}

/** Results in the order of the cases. Rejects when `signal` aborts. */
export async function runMatrix(
  cases: readonly MatrixCase[],
  { jobs, onResult, ...options }: RunMatrixOptions,
): Promise<CaseResult[]> {
  const results = new Map<MatrixCase, CaseResult>();
  const again: MatrixCase[] = [];
  const note = (item: MatrixCase, result: CaseResult) => {
    results.set(item, result);
    onResult?.(result, results.size, cases.length);
  };
  const left = cases.values();
  const takeOneByOne = async () => {
    for (const item of left) {
      options.signal?.throwIfAborted();
      const result = await runCase(item, options);
      const isSure = result.verdict === "holds" || result.verdict === "refused" || result.hasWrongSideEffect;
      if (isSure || !item.required) note(item, result);
      else again.push(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, cases.length) }, takeOneByOne));
  for (const item of again) {
    options.signal?.throwIfAborted();
    note(item, await runCase(item, options));
  }
  return cases.map((item) => results.get(item) as CaseResult);
}
