import { expect, it } from "vitest";
import { endGroup } from "../../src/exec/process-group.ts";

/** The group is no real one: without process information a signal says whether it lives. */
const NO_PROC = "/there-is-no-proc";

/** A group that is empty after the given signal. */
function group(diesBy: "SIGTERM" | "SIGKILL" | "before") {
  const sent: (string | number)[] = [];
  let alive = diesBy !== "before";
  const kill = (pid: number, signal: NodeJS.Signals) => {
    expect(pid).toBe(-42);
    if (!alive) throw Object.assign(new Error("ESRCH"), { code: "ESRCH" });
    if ((signal as unknown) !== 0) sent.push(signal);
    if (signal === diesBy) alive = false;
  };
  return { sent, kill };
}

it("a group that ends by SIGTERM is not sent SIGKILL", async () => {
  const { sent, kill } = group("SIGTERM");
  await endGroup({ kill, groupId: 42, graceMs: 5_000, procRoot: NO_PROC });
  expect(sent).toEqual(["SIGTERM"]);
});

it("a group with a member that outlives the grace period is sent SIGKILL", async () => {
  const { sent, kill } = group("SIGKILL");
  await endGroup({ kill, groupId: 42, graceMs: 50, procRoot: NO_PROC });
  expect(sent).toEqual(["SIGTERM", "SIGKILL"]);
});

it("an empty group is sent nothing more, and that is no error", async () => {
  const { sent, kill } = group("before");
  await endGroup({ kill, groupId: 42, graceMs: 5_000, procRoot: NO_PROC });
  expect(sent).toEqual([]);
});
