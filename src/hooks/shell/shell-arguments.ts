// How a shell reads its own arguments: the text after `-c`, a file, or its input. Pure.

import type { ShellCommand } from "./command.ts";
import { isOpen } from "./fields.ts";
import { readOptions } from "./read-options.ts";
import { SSH_OPTIONS, sshCommand } from "./unwrap-remote.ts";
import { WRAPPERS } from "./wrappers.ts";

export const SHELLS = new Set("sh bash dash zsh ksh mksh ash fish rbash rzsh csh tcsh".split(" "));

/** `su`, `runuser` and `sg` hand what follows the user to a shell. */
export const SU_OPTIONS = {
  flags: "lmpPfh",
  values: "cgGsTwuC",
  longFlags: "login preserve-environment fast pty no-pty help version",
  longValues: "command session-command group supp-group shell whitelist-environment user",
};

export interface ShellArguments {
  /** What `-c` gives it. */
  readonly script?: string;
  /** The script's file, and what follows it; behind `-c` what follows the text. */
  readonly operands: readonly string[];
  /** It reads its script from its input. */
  readonly readsInput: boolean;
}

/** `-eoc pipefail text`: each `o` takes a word of its own, and `c` the first word behind all options. */
export function readShellArguments(args: readonly string[]): ShellArguments {
  let isText = false;
  let isInput = false;
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "--" || arg === "-") {
      at += 1;
      break;
    }
    if (!/^[-+]./.test(arg)) break;
    if (/^--(?:rcfile|init-file)$/.test(arg)) at += 1;
    else if (/^--command(?:=|$)/.test(arg)) {
      const attached = /^--command=(.*)$/s.exec(arg)?.[1];
      if (attached !== undefined)
        return { script: attached, operands: args.slice(at + 1), readsInput: false };
      isText = true;
    } else if (!arg.startsWith("--")) {
      if (arg.startsWith("-") && arg.includes("c")) isText = true;
      if (arg.startsWith("-") && arg.includes("s")) isInput = true;
      at += (arg.match(/[oO]/g) ?? []).length;
    }
  }
  const [first, ...rest] = args.slice(at);
  if (isText)
    return first === undefined
      ? { operands: [], readsInput: false }
      : { script: first, operands: rest, readsInput: false };
  const readsInput =
    isInput || first === undefined || first === "-" || /^\/dev\/(?:stdin|fd\/0)$/.test(first);
  return { operands: first === undefined ? [] : [first, ...rest], readsInput };
}

/** The arguments of the shell that `su` starts: `su - root -c x`, `su root -- -c x`. */
export function shellOfSu(args: readonly string[]): ShellArguments {
  const { options, operands } = readOptions(args, SU_OPTIONS, { isPermuted: true });
  const script = options.find(({ name }) => /^(?:c|command|session-command)$/.test(name))?.value;
  const [, ...rest] = operands[0] === "-" ? operands.slice(1) : operands;
  const own = readShellArguments(rest.filter((word) => word !== "-"));
  return script === undefined ? own : { script, operands: [], readsInput: false };
}

/** No text and no file is named, so that a shell, here or elsewhere, reads commands from the input of this one. */
export function readsShellInput({ name, args }: Pick<ShellCommand, "name" | "args">): boolean {
  if (SHELLS.has(name)) return readShellArguments(args).readsInput;
  if (name === "su" || name === "runuser") return shellOfSu(args).readsInput && !args.includes("-u");
  if (name === "source" || name === ".") return /^(?:\/dev\/stdin|-|\/dev\/fd\/0)$/.test(args[0] ?? "");
  if (name === "ssh")
    return sshCommand(args).length === 0 && readOptions(args, SSH_OPTIONS).operands.length > 0;
  if (name === "chroot") return readOptions(args, WRAPPERS.chroot ?? {}).operands.length === 1;
  if (name === "unshare" || name === "nsenter")
    return readOptions(args, WRAPPERS[name] ?? {}).operands.length === 0;
  if (name !== "sudo" && name !== "doas") return false;
  const { options, operands } = readOptions(args, WRAPPERS[name] ?? {});
  return (
    options.some(({ name: option }) => /^(?:s|i|shell|login)$/.test(option)) &&
    operands.every((word) => /^[A-Za-z_]\w*=/.test(word) && !isOpen(word))
  );
}
