// Commands that run elsewhere: on another machine by ssh, in a container by `exec`. What is there is as dear as what is here. Pure.

import { type OptionTable, operandStarts, readOptions, valuesOf } from "./read-options.ts";
import type { Inner } from "./unwrap.ts";

export const CONTAINERS = new Set(
  "docker podman nerdctl kubectl oc k docker-compose lxc incus crictl".split(" "),
);

export const SSH_OPTIONS: OptionTable = {
  flags: "46AaCfGgKkMNnqsTtVvXxYy",
  values: "BbcDEeFIiJLlmOoPpQRSWw",
};

/** The words behind the host, whose options may stand on both its sides. */
export function sshCommand(args: readonly string[]): readonly string[] {
  const [, ...behind] = readOptions(args, SSH_OPTIONS).operands;
  return readOptions(behind, SSH_OPTIONS).operands;
}

export function unwrapSsh(args: readonly string[]): Inner[] {
  const words = sshCommand(args);
  return words.length === 0 ? [] : [{ script: words.join(" "), parameters: [], via: "ssh" }];
}

/** mosh has long options alone, and hands its words on as they are. */
export function unwrapMosh(args: readonly string[]): Inner[] {
  return operandStarts(args, { longValues: "client server predict ssh port bind-server" })
    .map((at) => args.slice(at + 1).filter((word, index) => index > 0 || word !== "--"))
    .filter((words) => words.length > 0)
    .map((words) => ({ words, via: "mosh" }));
}

const EXEC: OptionTable = {
  flags: "ditTq",
  values: "uewncf",
  longFlags: "detach interactive tty privileged no-TTY quiet stdin",
  longValues:
    "user env env-file workdir detach-keys index namespace container filename context pod-running-timeout",
};

/** `docker exec c x`, `docker compose exec c x`, `kubectl exec p -- x`. */
export function unwrapContainer(name: string, args: readonly string[]): Inner[] {
  const at = args.indexOf("exec");
  if (at === -1 || args.slice(0, at).some((arg) => /^(?:run|create|build)$/.test(arg))) return [];
  const rest = args.slice(at + 1);
  const dashes = rest.indexOf("--");
  const starts = dashes !== -1 ? [dashes] : operandStarts(rest, EXEC);
  return starts
    .map((start) => rest.slice(start + 1))
    .filter((words) => words.length > 0)
    .map((words) => ({ words, via: name }));
}

/** A text for a shell, given to an option: `vagrant ssh -c x`, `gcloud compute ssh h --command x`, `nix-shell --run x`. */
export const TEXT_OPTIONS: Readonly<Record<string, OptionTable & { readonly names: readonly string[] }>> = {
  vagrant: { values: "c", longValues: "command", names: ["c", "command"] },
  gcloud: { longValues: "command project zone", names: ["command"] },
  "nix-shell": { values: "pAI", longValues: "run command packages", names: ["run", "command"] },
  nix: { values: "c", longValues: "command", names: [] },
  npx: { values: "pcw", longValues: "call package workspace", names: ["c", "call"] },
  npm: { values: "cw", longValues: "call workspace", names: ["c", "call"] },
  nc: { values: "ecpsqwiX", longValues: "exec sh-exec", names: ["e", "c", "exec", "sh-exec"] },
  ncat: { values: "ecpsqwi", longValues: "exec sh-exec", names: ["e", "c", "exec", "sh-exec"] },
  ansible: { values: "amiu", longValues: "args module-name inventory", names: ["a", "args"] },
};

export function unwrapTextOptions(name: string, args: readonly string[]): Inner[] {
  const table = Object.hasOwn(TEXT_OPTIONS, name) ? TEXT_OPTIONS[name] : undefined;
  if (table === undefined) return [];
  const { options } = readOptions(args, table, { isPermuted: true });
  return valuesOf(options, ...table.names).map((script) => ({ script, parameters: [], via: name }));
}
