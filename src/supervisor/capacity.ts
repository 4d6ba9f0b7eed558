// Whether one more run fits: file descriptors of this process, memory of this machine. Read from /proc when asked; where there is none,
// nothing is known and nothing refuses.

import { readdirSync, readFileSync } from "node:fs";
import type { Issue } from "../errors.ts";

export interface CapacityNeeds {
  readonly descriptorsPerRun: number;
  readonly memoryPerRunBytes: number;
  readonly minFreeMemoryBytes: number;
}

/**
 * `capacity_exhausted` for each resource that would run out.
 *
 * @param starting runs that are about to use what they need, this one among them.
 */
export function checkCapacity(needs: CapacityNeeds, starting: number): Issue[] {
  const issues: Issue[] = [];
  const refuse = (path: string, message: string, hint: string) =>
    issues.push({ code: "capacity_exhausted", path, message, hint });
  const descriptors = readDescriptors();
  const neededDescriptors = needs.descriptorsPerRun * starting;
  if (descriptors !== undefined && descriptors.limit - descriptors.open < neededDescriptors)
    refuse(
      "descriptorsPerRun",
      `${descriptors.limit - descriptors.open} of ${descriptors.limit} file descriptors are free, ${starting} start(s) need ${neededDescriptors}`,
      "raise the limit (ulimit -n), or lower concurrency",
    );
  const available = readAvailableMemory();
  const neededBytes = needs.memoryPerRunBytes * starting + needs.minFreeMemoryBytes;
  if (available !== undefined && available < neededBytes)
    refuse(
      "memoryPerRunBytes",
      `${available} bytes of memory are available, ${starting} start(s) need ${neededBytes}, of which ${needs.minFreeMemoryBytes} stay free`,
      "lower concurrency, memoryPerRunBytes or minFreeMemoryBytes",
    );
  return issues;
}

/** Soft limit and open descriptors of this process. */
export function readDescriptors(): { limit: number; open: number } | undefined {
  const limits = readIfThere("/proc/self/limits");
  const soft = /^Max open files\s+(\d+)/m.exec(limits ?? "")?.[1];
  if (soft === undefined) return undefined; // no /proc, or no limit
  return { limit: Number(soft), open: readdirSync("/proc/self/fd").length };
}

/** Bytes that can be used without swapping. */
export function readAvailableMemory(): number | undefined {
  const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(readIfThere("/proc/meminfo") ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // no /proc
  }
}
