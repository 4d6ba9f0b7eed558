// Programs that run the command behind their options, and which of their options take a value. A table: nothing is read here.

import type { OptionTable } from "./read-options.ts";

export interface Wrapper extends OptionTable {
  /** Words before the command that belong to the wrapper. @default 0 */
  readonly skip?: number;
  /** Its own words cannot be told from the command: any word may begin it. */
  readonly isAnywhere?: boolean;
}

const ANYWHERE: Wrapper = { isAnywhere: true };

export const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: {
    flags: "AbBEeHiKklNnPSsVv",
    values: "aCcDghpRrTtUu",
    longFlags:
      "askpass background bell preserve-env edit set-home login remove-timestamp reset-timestamp list no-update non-interactive preserve-groups stdin shell validate version help",
    longValues:
      "close-from login-class chdir group host prompt chroot role command-timeout type other-user user",
  },
  doas: { flags: "Lns", values: "aCu" },
  run0: { longValues: "user group unit property description slice nice chdir setenv machine background" },
  pkexec: { longFlags: "disable-internal-agent keep-cwd", longValues: "user" },
  env: {
    flags: "i0v",
    values: "uCSaP",
    longFlags: "ignore-environment null debug default-signal ignore-signal block-signal list-signal-handling",
    longValues: "unset chdir split-string argv0",
  },
  nohup: {},
  nice: { values: "n", longValues: "adjustment" },
  ionice: { flags: "t", values: "cnpPu", longFlags: "ignore", longValues: "class classdata pid pgid uid" },
  chrt: { flags: "abdfiormpvR", values: "TPD", skip: 1 },
  taskset: { flags: "acp", longFlags: "all-tasks cpu-list pid", skip: 1 },
  time: {
    flags: "apvqhVl",
    values: "fo",
    longFlags: "append portability verbose quiet",
    longValues: "format output",
  },
  timeout: {
    flags: "fpv",
    values: "ks",
    longFlags: "foreground preserve-status verbose",
    longValues: "kill-after signal",
    skip: 1,
  },
  gtimeout: {
    flags: "fpv",
    values: "ks",
    longFlags: "foreground preserve-status",
    longValues: "kill-after signal",
    skip: 1,
  },
  stdbuf: { values: "ioe", longValues: "input output error" },
  unbuffer: { flags: "p" },
  setsid: { flags: "cfw", longFlags: "ctty fork wait" },
  setarch: { flags: "v3BFILRSTXZ", skip: 1 },
  linux32: { flags: "v3BFILRSTXZ" },
  linux64: { flags: "v3BFILRSTXZ" },
  arch: {},
  command: { flags: "pvV" },
  builtin: {},
  exec: { flags: "cl", values: "a" },
  coproc: {},
  strace: { flags: "cCdDfFhikKnqrtTvVwxyYzZN", values: "abeEIoOpPsSuUX" },
  ltrace: { flags: "bcCfhiLrStTV", values: "aADeElnopsuwxX" },
  valgrind: {},
  catchsegv: {},
  chroot: { longFlags: "skip-chdir", longValues: "userspec groups", skip: 1 },
  unshare: {
    flags: "muinpUCTfrchV",
    values: "SGRw",
    longFlags:
      "mount uts ipc net pid user cgroup time fork map-root-user map-current-user kill-child mount-proc mount-binfmt keep-caps",
    longValues:
      "setuid setgid root wd map-user map-group map-users map-groups propagation setgroups monotonic boottime",
  },
  nsenter: {
    flags: "amuinpCUTFZrwe",
    values: "tSG",
    longFlags:
      "all mount uts ipc net pid cgroup user time root wd no-fork preserve-credentials env follow-context",
    longValues: "target setuid setgid wdns net-socket",
  },
  prlimit: {},
  numactl: ANYWHERE,
  flock: {
    flags: "enosuxFv",
    values: "wEc",
    longFlags: "exclusive nonblock no-fork close shared unlock verbose",
    longValues: "timeout wait conflict-exit-code command",
    skip: 1,
  },
  xargs: {
    flags: "0oprtxeil",
    values: "adEILnPsJRS",
    longFlags: "null open-tty interactive no-run-if-empty verbose exit show-limits eof max-lines replace",
    longValues: "arg-file delimiter max-args max-procs max-chars process-slot-var",
  },
  parallel: { values: "jaIND", longValues: "jobs arg-file delay timeout retries joblog colsep" },
  sem: { values: "j", longValues: "jobs id timeout", longFlags: "fg wait" },
  watch: {
    flags: "bcdegptxwrf",
    values: "nqs",
    longFlags: "beep color differences errexit chgexit no-title precise exec",
    longValues: "interval equexit shotsdir",
  },
  entr: { flags: "acdnprsxz" },
  busybox: {},
  toybox: {},
  chronic: { flags: "ev" },
  ts: { flags: "nfgmdB", values: "DLNES" },
  rlwrap: {},
  winpty: {},
  caffeinate: { flags: "dimsu", values: "tw" },
  fakeroot: { flags: "uhv", values: "lbsi", longValues: "lib faked" },
  proot: { values: "rbwqkm" },
  bwrap: ANYWHERE,
  firejail: ANYWHERE,
  gosu: { skip: 1 },
  "su-exec": { skip: 1 },
  setpriv: {},
  capsh: ANYWHERE,
  cgexec: { values: "g", longFlags: "sticky" },
  "systemd-run": {
    flags: "tPSGdqrv",
    values: "puEHMC",
    longFlags:
      "scope user system wait pty pipe shell quiet collect no-block no-ask-password remain-after-exit same-dir send-sighup",
    longValues:
      "unit property description slice uid gid nice working-directory setenv host machine service-type on-active on-boot on-calendar on-startup timer-property path-property socket-property",
  },
  "systemd-inhibit": { longValues: "what who why mode" },
  "dbus-run-session": { longValues: "config-file dbus-daemon" },
  "xvfb-run": { flags: "ahlw", values: "efnps" },
  npx: { flags: "yq", values: "pcw", longFlags: "yes no quiet", longValues: "package call workspace" },
  bunx: {},
  uvx: { values: "p", longValues: "from with python" },
  pipx: { skip: 1 },
  shx: {},
  dotenv: { values: "e" },
  "cross-env": {},
  direnv: { skip: 2 },
  retry: { values: "tdm" },
  proxychains: { values: "f" },
  proxychains4: { values: "f" },
  torsocks: { values: "uaP" },
  "ssh-agent": { values: "atEO" },
  sshpass: { flags: "eVhv", values: "pfdP" },
  "aws-vault": ANYWHERE,
  perf: ANYWHERE,
  gdb: ANYWHERE,
  conda: ANYWHERE,
  mamba: ANYWHERE,
  machinectl: ANYWHERE,
  wsl: {},
  screen: ANYWHERE,
};

/** Wrappers of several words: `bundle exec x`. */
export const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  bundle: ["exec"],
  poetry: ["run"],
  pipenv: ["run"],
  uv: ["run"],
  pnpm: ["exec", "dlx"],
  yarn: ["exec", "dlx"],
  npm: ["exec", "x"],
  bun: ["x", "run"],
  mise: ["exec", "x"],
  asdf: ["exec"],
  rbenv: ["exec"],
  pyenv: ["exec"],
  nodenv: ["exec"],
  devbox: ["run"],
  op: ["run"],
  doppler: ["run"],
};
