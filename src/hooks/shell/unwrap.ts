// Which command, or which text for a shell, a command runs in turn: `sudo x`, `bash -c "x"`, `find -exec x`. Pure.

import type { ShellCommand } from "./command.ts";
import { isOpen, OPEN } from "./fields.ts";
import { type OptionTable, operandStarts, readOptions, valuesOf } from "./read-options.ts";
import { readShellArguments, SHELLS, type ShellArguments, SU_OPTIONS, shellOfSu } from "./shell-arguments.ts";
import { CONTAINERS, unwrapContainer, unwrapMosh, unwrapSsh, unwrapTextOptions } from "./unwrap-remote.ts";
import { RUNNERS, WRAPPERS, type Wrapper } from "./wrappers.ts";

export type Inner =
  | {
      readonly words: readonly string[];
      readonly via: string;
      /** Where it stands, when the wrapper goes there first. */
      readonly directory?: string;
    }
  | { readonly script: string; readonly parameters: readonly string[]; readonly via: string };

/** Every command and text that this one runs, in each way that it may be read. */
export function unwrap(command: ShellCommand): Inner[] {
  const { name, args } = command;
  if (SHELLS.has(name)) return shellText(name, readShellArguments(args));
  if (name === "eval")
    return args.length === 0 ? [] : [{ script: args.join(" "), parameters: [], via: name }];
  if (name === "trap") {
    const [action] = args[0] === "--" ? args.slice(1) : args;
    return action === undefined || action.startsWith("-")
      ? []
      : [{ script: action, parameters: [], via: name }];
  }
  if (name === "alias")
    return args.flatMap((arg) =>
      arg.includes("=") ? [{ script: arg.slice(arg.indexOf("=") + 1), parameters: [], via: name }] : [],
    );
  if (name === "su" || name === "runuser") {
    if (
      name === "runuser" &&
      readOptions(args, SU_OPTIONS).options.some((option) => /^u(?:ser)?$/.test(option.name))
    )
      return commandAfter(name, args, SU_OPTIONS);
    return shellText(name, shellOfSu(args));
  }
  if (name === "script")
    return optionTexts(name, args, { flags: "aefq", values: "cBIOTtEmo", longValues: "command" });
  if (name === "find" || name === "gfind") return unwrapFind(args);
  if (name === "fd" || name === "fdfind")
    return afterWord(args, ["-x", "-X", "--exec", "--exec-batch"], name);
  if (name === "ssh" || name === "autossh") return unwrapSsh(args);
  if (name === "mosh") return unwrapMosh(args);
  if (name === "adb")
    return args.includes("shell")
      ? [{ script: args.slice(args.indexOf("shell") + 1).join(" "), parameters: [], via: name }]
      : [];
  if (name === "git") return unwrapGit(args);
  if (name === "tar" || name === "bsdtar") return unwrapTar(args);
  if (CONTAINERS.has(name)) return unwrapContainer(name, args);
  const texts = [...unwrapTextOptions(name, args), ...textsOf(name, args)];
  const verbs = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
  if (verbs !== undefined) {
    const at = args.findIndex((arg) => verbs.includes(arg));
    return [...texts, ...(at === -1 ? [] : commandAfter(name, args.slice(at + 1), {}))];
  }
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
  return wrapper === undefined ? texts : [...texts, ...commandAfter(name, args, wrapper)];
}

function shellText(via: string, { script, operands }: ShellArguments): Inner[] {
  return script === undefined ? [] : [{ script, parameters: operands, via }];
}

const ASSIGNMENT = /^[A-Za-z_]\w*=/;

function commandAfter(via: string, args: readonly string[], wrapper: Wrapper): Inner[] {
  const { options } = readOptions(args, wrapper);
  const directory = valuesOf(options, ...(DIRECTORY_OPTIONS[via] ?? [])).at(-1);
  const isPiped = via === "xargs" || via === "parallel";
  const marks = ["{}", ...(via === "xargs" ? valuesOf(options, "I", "J") : [])];
  const starts = commandStarts(args, wrapper);
  if (starts.length > STARTS_MAX)
    throw new Error(`${via} may begin its command in more than ${STARTS_MAX} places`);
  return starts.flatMap((start) => {
    const words = args.slice(start + (wrapper.skip ?? 0));
    while (ASSIGNMENT.test(words[0] ?? "")) words.shift();
    if (words.length === 0) return [];
    // What xargs adds is not known here; a reader that knows puts it in place of the mark.
    const all = [
      ...words.map((word) =>
        via === "xargs" ? marks.reduce((text, mark) => text.replaceAll(mark, OPEN), word) : word,
      ),
      ...(isPiped ? [OPEN] : []),
    ];
    return [{ words: all, via, ...(directory === undefined ? {} : { directory }) }];
  });
}

/** Where the wrapper's own words end: in several places when its options are not known. */
function commandStarts(args: readonly string[], wrapper: Wrapper): readonly number[] {
  if (wrapper.isAnywhere === true) return args.flatMap((arg, index) => (arg.startsWith("-") ? [] : [index]));
  return operandStarts(args, wrapper).flatMap((at) => {
    // `env A=b -u C x`, `env - x`: more options may follow.
    if (!ASSIGNMENT.test(args[at] as string) && args[at] !== "-") return [at];
    return commandStarts(args.slice(at + 1), wrapper).map((next) => at + 1 + next);
  });
}

/** Places in which the command of a wrapper may begin; beyond, nobody can say what it runs. */
const STARTS_MAX = 60;

const DIRECTORY_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  env: ["C", "chdir"],
  sudo: ["D", "chdir"],
  run0: ["chdir"],
  "systemd-run": ["working-directory"],
};

function optionTexts(name: string, args: readonly string[], table: OptionTable): Inner[] {
  const { options } = readOptions(args, table, { isPermuted: true });
  return valuesOf(options, "c", "command").map((script) => ({ script, parameters: [], via: name }));
}

function unwrapFind(args: readonly string[]): Inner[] {
  const found: Inner[] = [];
  for (const [index, arg] of args.entries()) {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(arg)) continue;
    const end = args.findIndex((other, at) => at > index && (other === ";" || other === "+"));
    const words = args
      .slice(index + 1, end === -1 ? undefined : end)
      .map((word) => word.replaceAll("{}", OPEN));
    if (words.length > 0) found.push({ words, via: "find" });
  }
  return found;
}

function afterWord(args: readonly string[], marks: readonly string[], via: string): Inner[] {
  const at = args.findIndex((arg) => marks.includes(arg));
  const words = at === -1 ? [] : args.slice(at + 1).map((word) => word.replaceAll("{}", OPEN));
  return words.length === 0 ? [] : [{ words: words.some(isOpen) ? words : [...words, OPEN], via }];
}

/** Settings whose value git runs. */
const GIT_PROGRAMS =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|gitproxy|askpass)|sequence\.editor|diff\.external|pager\..+|gpg\.program|credential\..*helper|(?:filter|diff|merge|difftool|mergetool|browser|man|trailer|uploadpack)\..+)$/i;

/** Aliases and programs that are given on the command line, and the verbs that run a command for each commit or module. */
function unwrapGit(args: readonly string[]): Inner[] {
  const found: Inner[] = [];
  const script = (text: string) => found.push({ script: text, parameters: [], via: "git" });
  for (const [index, arg] of args.entries()) {
    const before = args[index - 1] ?? "";
    const [name = "", value] = before === "-c" ? arg.split(/=(.*)/s) : [before, arg];
    if (value !== undefined && /^alias\./i.test(name))
      script(value.startsWith("!") ? value.slice(1) : `git ${value}`);
    if (value !== undefined && GIT_PROGRAMS.test(name)) script(value.replace(/^!/, ""));
    if (before === "--exec" || before === "-x") script(arg);
    const attached = /^--(?:exec|receive-pack|upload-pack)=(.*)$/s.exec(arg)?.[1];
    if (attached !== undefined) script(attached);
  }
  const at = args.findIndex(
    (arg, index) => arg === "foreach" || (arg === "run" && args[index - 1] === "bisect"),
  );
  const rest = at === -1 ? [] : args.slice(at + 1).filter((arg) => arg !== "--recursive");
  if (rest.length > 0) script(rest.join(" "));
  return found;
}

/** Programs that tar starts for checkpoints and members. */
function unwrapTar(args: readonly string[]): Inner[] {
  const scripts = args.flatMap((arg, index) => {
    const before = args[index - 1] ?? "";
    const attached = /^--(?:checkpoint-action=exec|to-command|use-compress-program|info-script)=(.*)$/s.exec(
      arg,
    )?.[1];
    const separate = /^(?:--to-command|--use-compress-program|--info-script|-I|-F)$/.test(before)
      ? arg
      : undefined;
    const action = before === "--checkpoint-action" ? /^exec=(.*)$/s.exec(arg)?.[1] : undefined;
    return [attached, separate, action].filter((script) => script !== undefined);
  });
  return scripts.map((script) => ({ script, parameters: [], via: "tar" }));
}

/** `env -S "x"`, `watch "x"`, `parallel "x" ::: a`: one word that is a text. */
function textsOf(name: string, args: readonly string[]): Inner[] {
  const text = (script: string): Inner => ({ script, parameters: [], via: name });
  if (name === "env") {
    // What stands behind `-S text` is appended to that text, options or not.
    for (const index of args.slice(0, STARTS_MAX).keys()) {
      const { options } = readOptions(args.slice(0, index + 1), WRAPPERS.env ?? {});
      const [split] = valuesOf(options, "S", "split-string");
      if (split !== undefined) return [text([split, ...args.slice(index + 1).map(quote)].join(" "))];
    }
    return valuesOf(readOptions(args, WRAPPERS.env ?? {}).options, "S", "split-string").map(text);
  }
  if (name === "flock") {
    const { options, operands } = readOptions(args, WRAPPERS.flock ?? {});
    const behind = readOptions(operands.slice(1), { values: "c", longValues: "command" }).options;
    return valuesOf([...options, ...behind], "c", "command").map(text);
  }
  const isEntr = name === "entr" && args.some((arg) => /^-[a-z]*s/.test(arg));
  const isTmux =
    name === "tmux" &&
    args.some((arg) =>
      /^(?:new|new-session|new-window|neww|split-window|splitw|respawn-\w+|send|send-keys|run|run-shell|if|if-shell)$/.test(
        arg,
      ),
    );
  if (!isEntr && !isTmux && !/^(?:watch|parallel|sem|hyperfine|capsh)$/.test(name)) return [];
  return args
    .filter((word) => word.includes(" ") && !word.startsWith("-"))
    .map((word) => text(word.replaceAll("{}", OPEN)));
}

/** As one word of a text for a shell; what is open stays open. */
function quote(word: string): string {
  return `"${word.replaceAll(/[\\"$`]/g, "\\$&")}"`;
}
