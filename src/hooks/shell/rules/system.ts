// What stops the machine or takes its parts: signals to everything, shutdown, users, schedules, firewalls.

import { optionsOf } from "../command.ts";
import type { Rule } from "./rule.ts";

const kill: Rule = ({ args }) => {
  if (args[0] === "-l" || args[0] === "-L") return undefined;
  // The first word with a dash is the signal, unless a signal was named or `--` came before.
  const named = args.findIndex((arg) => arg === "-s" || arg === "-n" || arg === "--signal");
  const words = named === -1 ? args : args.filter((_, index) => index !== named && index !== named + 1);
  const dashes = words.indexOf("--");
  const pids =
    dashes === -1 ? words.slice(named === -1 && /^-./.test(words[0] ?? "") ? 1 : 0) : words.slice(dashes + 1);
  if (pids.includes("-1")) return "signals every process";
  return pids.includes("1") ? "signals the first process of the system" : undefined;
};

const pkill: Rule = ({ args }) => {
  const { short, long, rest } = optionsOf(args);
  if (rest.some((pattern) => /^(?:\.[*+]?|\^|\$|\^\.\*\$?)?$/.test(pattern))) return "signals every process";
  return (/[uU]/.test(short) || long.some((option) => /^--(?:euid|uid|user)$/.test(option))) &&
    rest.length <= 1
    ? "signals every process of a user"
    : undefined;
};

const STOPS = "stops the machine";

const shutdown: Rule = ({ args }) =>
  args.some((arg) => /^(?:-c|--help|--show|-k)$/.test(arg)) ? undefined : STOPS;

const init: Rule = ({ args }) => (/^[016s]$/i.test(args[0] ?? "") ? STOPS : undefined);

const systemctl: Rule = ({ args }) =>
  args.some((arg) =>
    /^(?:poweroff|reboot|halt|kexec|rescue|emergency|exit|suspend|hibernate|soft-reboot|isolate)$/.test(arg),
  )
    ? STOPS
    : undefined;

const always =
  (what: string): Rule =>
  () =>
    what;

const withOption =
  (letters: RegExp, what: string): Rule =>
  ({ args }) =>
    letters.test(optionsOf(args).short) || optionsOf(args).long.includes("--flush") ? what : undefined;

export const SYSTEM: Readonly<Record<string, Rule>> = {
  kill,
  pkill,
  killall: pkill,
  killall5: always("signals every process"),
  shutdown,
  reboot: shutdown,
  halt: shutdown,
  poweroff: shutdown,
  "stop-computer": always(STOPS),
  "restart-computer": always(STOPS),
  init,
  telinit: init,
  systemctl,
  loginctl: ({ args }) =>
    args.some((arg) => /^(?:poweroff|reboot|terminate-user|kill-user)$/.test(arg)) ? STOPS : undefined,
  userdel: always("deletes a user"),
  deluser: always("deletes a user"),
  groupdel: always("deletes a group"),
  crontab: withOption(/r/, "deletes all scheduled jobs"),
  iptables: withOption(/[FX]/, "drops the firewall's rules"),
  ip6tables: withOption(/[FX]/, "drops the firewall's rules"),
  nft: ({ args }) => (args.includes("flush") ? "drops the firewall's rules" : undefined),
  ufw: ({ args }) =>
    args.includes("reset") || args.includes("disable") ? "drops the firewall's rules" : undefined,
};
