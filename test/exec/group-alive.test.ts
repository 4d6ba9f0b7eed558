import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, vi } from "vitest";
import { isGroupAlive, signalGroup } from "../../src/exec/process-group.ts";

const kill = (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal);

it.skipIf(process.platform !== "linux")(
  "a group whose last member is a zombie is dead, though signals still reach it",
  async () => {
    // The outer shell leads the group and ends; its child becomes a zombie of a parent outside the group that does not reap it.
    const script =
      "import os,sys,time\npid=os.fork()\nif pid==0:\n os.setpgid(0,0)\n print(os.getpid(),flush=True)\n sys.stdin.readline()\n os._exit(0)\ntime.sleep(60)";
    const parent = spawn("python3", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      const [line] = await once(parent.stdout, "data");
      const groupId = Number(String(line).trim());
      expect(isGroupAlive(kill, groupId)).toBe(true);
      parent.stdin.write("end\n");
      await vi.waitFor(() => expect(isGroupAlive(kill, groupId)).toBe(false), {
        timeout: 5_000,
        interval: 5,
      });
      expect(signalGroup(kill, groupId, 0)).toBe(true);
    } finally {
      parent.kill("SIGKILL");
    }
  },
);
