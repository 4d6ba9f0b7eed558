// What this machine lets a run have: descriptors, memory, a PID namespace. Reads /proc and tries to make one namespace.

import { probePidNamespace } from "../spawn/namespace-recipe.ts";
import { readAvailableMemory, readDescriptors } from "../supervisor/capacity.ts";
import { VERSION } from "../version.ts";

export interface ExaminedMachine {
  readonly bridle: string;
  readonly node: string;
  readonly platform: string;
  /** Undefined where nothing tells. */
  readonly descriptors?: { readonly limit: number; readonly open: number };
  readonly memoryAvailableBytes?: number;
  /** `pid-namespace`: what an agent leaves behind is seen to be gone; `sweep`: it is looked for. */
  readonly containment: "pid-namespace" | "sweep";
  /** Why there is no PID namespace, in the host's own words. */
  readonly containmentWhy?: string;
}

export async function examineMachine(): Promise<ExaminedMachine> {
  const descriptors = readDescriptors();
  const memoryAvailableBytes = readAvailableMemory();
  const recipe = await probePidNamespace();
  return {
    bridle: VERSION,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    ...(descriptors === undefined ? {} : { descriptors }),
    ...(memoryAvailableBytes === undefined ? {} : { memoryAvailableBytes }),
    containment: typeof recipe === "string" ? "sweep" : "pid-namespace",
    ...(typeof recipe === "string" ? { containmentWhy: recipe } : {}),
  };
}
