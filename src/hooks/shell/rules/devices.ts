// Commands that write to devices or to places of the system: dd, mkfs, tee, and redirects of any command.

import { posix } from "node:path";
import { optionsOf, type ShellCommand } from "../command.ts";
import { isOpen } from "../fields.ts";
import { isDevice, isImportantFile } from "../targets.ts";
import { touchedBy } from "../writing-words.ts";
import { describeEmptied } from "./removing.ts";
import { type Facts, quote, type Rule } from "./rule.ts";

/** The first of these that is a device, or a file of the system or the home's dotfiles. */
function describeImportant(
  targets: readonly string[],
  { directories }: ShellCommand,
  facts: Facts,
): string | undefined {
  const found = targets.find((target) =>
    directories.some((directory) => {
      if (target.startsWith("-") || (isOpen(directory) && !target.startsWith("/"))) return false;
      const path = posix.resolve(directory, target);
      return isImportantFile(path, facts);
    }),
  );
  return found === undefined ? undefined : quote(found);
}

const dd: Rule = (command, facts) => {
  const targets = command.args.flatMap((arg) => (arg.startsWith("of=") ? [arg.slice(3)] : []));
  const bad = describeImportant(targets, command, facts);
  if (bad !== undefined) return `writes over ${bad}`;
  return targets.some((target) => target.startsWith("\ue000"))
    ? "writes to a target that cannot be read"
    : undefined;
};

const format: Rule = ({ name, args }) => {
  if (name === "wipefs" && !/[ao]/.test(optionsOf(args).short) && !args.includes("--all")) return undefined;
  if (
    /^(?:s?f|sg|c?g)disk$|^parted$/.test(name) &&
    args.some((arg) => /^(?:-[dlLpVJv]+|--(?:list|dump|print|verify|help|version|json))$|^print$/.test(arg))
  )
    return undefined;
  const target = args.find((arg) => isDevice(arg) || isOpen(arg) || /^[A-Z]:?$/.test(arg));
  return target === undefined ? undefined : `erases ${quote(target)}`;
};

const tee: Rule = (command, facts) => {
  const bad = describeImportant(optionsOf(command.args).rest, command, facts);
  return bad === undefined ? undefined : `writes to ${bad}`;
};

const copy: Rule = (command, facts) => {
  const { rest } = optionsOf(command.args);
  return rest[0] === "/dev/null" ? describeEmptied(rest.slice(1), command, facts) : undefined;
};

const COPIERS = /^(?:cp|mv|ln|install|link|rsync|scp|curl|wget|sort|g?sed|gpg|age|patch|uniq|iconv|openssl)$/;

/** Of programs that copy, move, download or edit in place: what they write over. */
export const writesOver: Rule = (command, facts) => {
  if (!COPIERS.test(command.name)) return undefined;
  const targets = touchedBy({ ...command, redirections: [] }).filter(({ isWhole }) => !isWhole);
  const bad = describeImportant(
    targets.map(({ field }) => field),
    command,
    facts,
  );
  return bad === undefined ? undefined : `writes over ${bad}`;
};

const always =
  (what: string): Rule =>
  () =>
    what;

const withWord =
  (pattern: RegExp, what: string): Rule =>
  ({ args }) =>
    args.some((arg) => pattern.test(arg)) ? what : undefined;

/** Of every command: what it writes over by `>` and its like. */
export const redirects: Rule = (command, facts) => {
  for (const { operator, targets } of command.redirections) {
    if (
      !operator.includes(">") ||
      (operator === ">&" && targets.every((target) => /^(?:\d+|-)$/.test(target)))
    )
      continue;
    const bad = describeImportant(targets, command, facts);
    if (bad !== undefined) return `writes to ${bad}`;
    const isAppend = operator.includes(">>") || operator === "<>";
    if (!isAppend && printsNothing(command)) {
      const emptied = describeEmptied(targets, command, facts);
      if (emptied !== undefined) return emptied;
    }
  }
  return undefined;
};

function printsNothing({ name, args, input }: ShellCommand): boolean {
  return (
    name === ":" ||
    name === "true" ||
    (name === "" && input.from.length === 0) ||
    (name === "cat" && args.join() === "/dev/null")
  );
}

const VOLUMES = "destroys a volume";

export const DEVICES: Readonly<Record<string, Rule>> = {
  dd,
  wipefs: format,
  blkdiscard: format,
  fdisk: format,
  sfdisk: format,
  gdisk: format,
  sgdisk: format,
  cfdisk: format,
  parted: format,
  mkswap: format,
  tee,
  cp: copy,
  install: copy,
  ln: copy,
  badblocks: withWord(/^-[a-z]*w/, "overwrites a device"),
  hdparm: withWord(/^--(?:security-erase|trim-sector|make-bad)/, "erases a device"),
  nvme: withWord(/^(?:format|sanitize)$/, "erases a device"),
  cryptsetup: withWord(
    /^(?:luksFormat|erase|luksErase|luksRemoveKey|luksKillSlot)$/,
    "makes a volume unreadable",
  ),
  lvremove: always(VOLUMES),
  vgremove: always(VOLUMES),
  pvremove: always(VOLUMES),
  zpool: withWord(/^(?:destroy|labelclear)$/, VOLUMES),
  zfs: withWord(/^(?:destroy|rollback)$/, VOLUMES),
  btrfs: withWord(/^delete$/, VOLUMES),
  mdadm: withWord(/^--(?:zero-superblock|stop)$/, VOLUMES),
  diskutil: withWord(/^(?:erase\w*|partitionDisk|zeroDisk|secureErase|reformat)$/i, "erases a disk"),
  "format-volume": always("erases a disk"),
  "clear-disk": always("erases a disk"),
};

/** `mkfs`, `mkfs.ext4`, `mke2fs`, `newfs_apfs`. */
export const makeFileSystem: Rule = (command, facts) =>
  /^(?:mkfs(?:\..+)?|mke2fs|mkdosfs|newfs(?:_.+)?)$/.test(command.name) ? format(command, facts) : undefined;
