// Which command, or which text for a shell, a command runs in turn: `sudo x`, `bash -c "x"`, `find -exec x`. Pure.

import { optionsOf, type ShellCommand } from "./command.ts";
import { isOpen, OPEN } from "./fields.ts";

export type Inner =
  | {
      readonly words: readonly string[];
      readonly via: string;
      /** Where it stands, when the wrapper goes there first. */
      readonly directory?: string;
    }
  | { readonly script: string; readonly parameters: readonly string[]; readonly via: string };

interface Wrapper {
  /** Options that take the next word, blank-separated. */
  readonly values?: string;
  /** Words before the command that belong to the wrapper. */
  readonly skip?: number;
}

/** Programs that take a command behind their options. */
const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: { values: "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot" },
  doas: { values: "-u -C" },
  run0: { values: "-u --user --unit --property" },
  pkexec: { values: "--user" },
  env: { values: "-u -C -S --unset --chdir" },
  nohup: {},
  nice: { values: "-n --adjustment" },
  ionice: { values: "-c -n -p" },
  chrt: { values: "-p", skip: 1 },
  taskset: { skip: 1 },
  time: { values: "-f -o" },
  timeout: { values: "-k -s --signal --kill-after", skip: 1 },
  gtimeout: { values: "-k -s", skip: 1 },
  stdbuf: { values: "-i -o -e" },
  unbuffer: {},
  setsid: {},
  setarch: { skip: 1 },
  command: {},
  builtin: {},
  exec: { values: "-a" },
  coproc: {},
  strace: { values: "-o -e -p -s -E -u" },
  ltrace: { values: "-o -e -p -s" },
  chroot: { skip: 1 },
  unshare: { values: "-S -G" },
  nsenter: { values: "-t -S -G" },
  prlimit: {},
  flock: { values: "-w -E", skip: 1 },
  xargs: { values: "-I -n -P -L -d -E -s -a --max-args --max-procs --replace --delimiter --arg-file" },
  parallel: { values: "-j -a --jobs" },
  watch: { values: "-n --interval" },
  entr: {},
  busybox: {},
  toybox: {},
  chronic: {},
  caffeinate: { values: "-t -w" },
  firejail: {},
  gosu: { skip: 1 },
  "su-exec": { skip: 1 },
  setpriv: {},
  "systemd-run": { values: "-p -u --unit --property" },
  "systemd-inhibit": {},
  "dbus-run-session": {},
  "xvfb-run": {},
  npx: { values: "-p --package" },
  bunx: {},
  dotenv: { values: "-e" },
  "cross-env": {},
  direnv: { skip: 2 },
  retry: { values: "-t" },
  proxychains: {},
  torsocks: {},
  "ssh-agent": {},
  "aws-vault": { skip: 2 },
};

/** Wrappers of several words: `bundle exec x`. */
const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  bundle: ["exec"],
  poetry: ["run"],
  pipenv: ["run"],
  uv: ["run"],
  pnpm: ["exec", "dlx"],
  yarn: ["exec", "dlx"],
  npm: ["exec"],
  mise: ["exec"],
  op: ["run"],
  doppler: ["run"],
};

export const SHELLS = new Set([
  "sh",
  "bash",
  "dash",
  "zsh",
  "ksh",
  "mksh",
  "ash",
  "fish",
  "rbash",
  "rzsh",
  "csh",
  "tcsh",
]);

const CONTAINERS = new Set(["docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "lxc"]);

/** Every command and text that this one runs. */
export function unwrap(command: ShellCommand): Inner[] {
  const { name, args } = command;
  if (SHELLS.has(name)) return unwrapShell(name, args);
  if (name === "eval")
    return args.length === 0 ? [] : [{ script: args.join(" "), parameters: [], via: name }];
  if (name === "trap" && args[0] !== undefined && !args[0].startsWith("-"))
    return [{ script: args[0], parameters: [], via: name }];
  if (name === "alias")
    return args.flatMap((arg) =>
      arg.includes("=") ? [{ script: arg.slice(arg.indexOf("=") + 1), parameters: [], via: name }] : [],
    );
  if (name === "su" || name === "runuser" || name === "script" || name === "flock") {
    const script = valueAfter(args, ["-c", "--command"]);
    if (script !== undefined) return [{ script, parameters: [], via: name }];
    if (name !== "flock") return [];
  }
  if (name === "find" || name === "gfind") return unwrapFind(args);
  if (name === "fd" || name === "fdfind")
    return afterWord(args, ["-x", "-X", "--exec", "--exec-batch"], name);
  if (name === "ssh" || name === "mosh") return unwrapSsh(args);
  if (name === "git") return unwrapGit(args);
  if (name === "tar" || name === "bsdtar") return unwrapTar(args);
  if (CONTAINERS.has(name)) return unwrapContainer(name, args);
  if (name === "env" || name === "watch" || name === "parallel") {
    const texts = textsOf(name, args);
    if (texts.length > 0) return texts;
  }
  const verbs = RUNNERS[name];
  if (verbs !== undefined) {
    const at = args.findIndex((arg) => !arg.startsWith("-"));
    return at !== -1 && verbs.includes(args[at] as string) ? commandAfter(name, args.slice(at + 1), {}) : [];
  }
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
  return wrapper === undefined ? [] : commandAfter(name, args, wrapper);
}

function commandAfter(name: string, args: readonly string[], { values = "", skip = 0 }: Wrapper): Inner[] {
  const takesValue = new Set(values.split(" "));
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "--") {
      at += 1;
      break;
    }
    if (takesValue.has(arg)) at += 1;
    else if (!/^-./.test(arg) && !/^[A-Za-z_]\w*=/.test(arg)) break;
  }
  const words = args.slice(at + skip).filter((arg, index, all) => !isAssignmentBefore(all, index, arg));
  if (words.length === 0) return [];
  const directory = CHANGES_DIRECTORY.has(name)
    ? valueAfter(args.slice(0, at), ["-C", "-D", "--chdir"])
    : undefined;
  // What xargs adds is not known here; a reader that knows puts it in place of the mark.
  const more = name === "xargs" || name === "parallel" ? [OPEN] : [];
  const all = [...words.map((word) => (name === "xargs" ? word.replaceAll("{}", OPEN) : word)), ...more];
  return [{ words: all, via: name, ...(directory === undefined ? {} : { directory }) }];
}

const CHANGES_DIRECTORY = new Set(["env", "sudo"]);

function isAssignmentBefore(all: readonly string[], index: number, arg: string): boolean {
  return /^[A-Za-z_]\w*=/.test(arg) && all.slice(0, index).every((before) => /^[A-Za-z_]\w*=/.test(before));
}

function unwrapShell(name: string, args: readonly string[]): Inner[] {
  const words = withoutShellValues(args);
  for (const [index, arg] of words.entries()) {
    if (!/^[-+]/.test(arg) || arg === "-" || arg === "--") return [];
    if (!/^-[A-Za-z]*c[A-Za-z]*$/.test(arg) && arg !== "--command") continue;
    const at = words.findIndex((other, place) => place > index && !other.startsWith("-"));
    const script = words[at];
    return script === undefined ? [] : [{ script, parameters: words.slice(at + 1), via: name }];
  }
  return [];
}

/** Without the values of `-o pipefail` and the like. */
export function withoutShellValues(args: readonly string[]): readonly string[] {
  return args.filter(
    (_, index) => !/^(?:[-+][A-Za-z]*[oO]|--rcfile|--init-file)$/.test(args[index - 1] ?? ""),
  );
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

function unwrapSsh(args: readonly string[]): Inner[] {
  const takesValue = /^-[bcDEeFIiJLlmOoPpQRSWw]$/;
  let at = 0;
  while (at < args.length && (args[at] as string).startsWith("-"))
    at += takesValue.test(args[at] as string) ? 2 : 1;
  const words = args.slice(at + 1);
  return words.length === 0 ? [] : [{ script: words.join(" "), parameters: [], via: "ssh" }];
}

/** Aliases and hooks that are given on the command line, and the verbs that run a command for each commit or module. */
function unwrapGit(args: readonly string[]): Inner[] {
  const found: Inner[] = [];
  for (const [index, arg] of args.entries()) {
    const setting = args[index - 1] === "-c" ? /^alias\.[^=]+=!(.*)$/s.exec(arg)?.[1] : undefined;
    if (arg.startsWith("!") && args.includes("config"))
      found.push({ script: arg.slice(1), parameters: [], via: "git" });
    if (setting !== undefined) found.push({ script: setting, parameters: [], via: "git" });
    if (args[index - 1] === "--exec" || args[index - 1] === "-x")
      found.push({ script: arg, parameters: [], via: "git" });
  }
  const at = args.findIndex(
    (arg, index) => arg === "foreach" || (arg === "run" && args[index - 1] === "bisect"),
  );
  const rest = at === -1 ? [] : args.slice(at + 1).filter((arg) => arg !== "--recursive");
  if (rest.length > 0) found.push({ script: rest.join(" "), parameters: [], via: "git" });
  return found;
}

/** Programs that tar starts for checkpoints and members. */
function unwrapTar(args: readonly string[]): Inner[] {
  return args.flatMap((arg) => {
    const script = /^--(?:checkpoint-action=exec|to-command|use-compress-program)=(.*)$/s.exec(arg)?.[1];
    return script === undefined ? [] : [{ script, parameters: [], via: "tar" }];
  });
}

/** `docker exec c x`, `kubectl exec p -- x`; the file system is another one, and as dear. */
function unwrapContainer(name: string, args: readonly string[]): Inner[] {
  const at = args.indexOf("exec");
  if (at === -1 || at > 3) return [];
  const rest = args.slice(at + 1);
  const dashes = rest.indexOf("--");
  if (dashes !== -1)
    return [{ words: rest.slice(dashes + 1), via: name }].filter(({ words }) => words.length > 0);
  const takesValue = /^(?:-u|-w|-e|-n|-c|--user|--workdir|--env|--namespace|--container)$/;
  let word = 0;
  while (word < rest.length && (rest[word] as string).startsWith("-"))
    word += takesValue.test(rest[word] as string) ? 2 : 1;
  const words = rest.slice(word + 1);
  return words.length === 0 ? [] : [{ words, via: name }];
}

/** `env -S "x"`, `watch "x"`, `parallel "x" ::: a`: one word that is a text. */
function textsOf(name: string, args: readonly string[]): Inner[] {
  if (name === "env") {
    const text = valueAfter(args, ["-S", "--split-string"]);
    return text === undefined ? [] : [{ script: text, parameters: [], via: name }];
  }
  const { rest } = optionsOf(args);
  return rest
    .filter((word) => word.includes(" "))
    .map((word) => ({
      script: word.replaceAll("{}", OPEN),
      parameters: [],
      via: name,
    }));
}

function valueAfter(args: readonly string[], marks: readonly string[]): string | undefined {
  for (const [index, arg] of args.entries()) {
    if (marks.includes(arg)) return args[index + 1];
    for (const mark of marks) {
      if (mark.startsWith("--") && arg.startsWith(`${mark}=`)) return arg.slice(mark.length + 1);
      if (mark.length === 2 && arg.startsWith(mark) && !arg.startsWith("--")) return arg.slice(2);
    }
  }
  return undefined;
}
