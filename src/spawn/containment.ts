// What holds a run's processes together: a PID namespace where the host has one, else the sweep at the end. Decided before the run.

import { type Issue, refuseIfAny } from "../errors.ts";
import { type NamespaceRecipe, probePidNamespace } from "./namespace-recipe.ts";

/**
 * `auto`: a PID namespace where this host can make one, else the sweep. `pid-namespace`: refuses where there is none. `sweep`: never one.
 */
export type Containment = "auto" | "pid-namespace" | "sweep";

/**
 * The recipe of the namespace, or undefined for the sweep.
 *
 * @param askHost for tests. @default probePidNamespace
 * @throws AgentHooksRefused `platform_unsupported` when a namespace was asked for and this host makes none.
 */
export async function resolveContainment(
  containment: Containment = "auto",
  askHost: () => Promise<NamespaceRecipe | string> = probePidNamespace,
): Promise<NamespaceRecipe | undefined> {
  if (containment === "sweep") return undefined;
  const answer = await askHost();
  if (typeof answer !== "string") return answer;
  if (containment === "auto") return undefined;
  const issue: Issue = {
    code: "platform_unsupported",
    path: "containment",
    message: `no PID namespace can be made here: ${answer}`,
    hint: 'leave `containment` out, or say "sweep"',
  };
  refuseIfAny([issue]);
  return undefined;
}
