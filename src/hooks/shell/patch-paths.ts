// Files that a patch names, where its text stands in the command: for `patch`, `git apply` and `apply_patch`. Pure.

import type { ShellCommand } from "./command.ts";
import { printedBy } from "./output.ts";
import { readOptions, valuesOf } from "./read-options.ts";
import type { Touched } from "./writing-words.ts";

export function patchedBy({ name, args, input, substitutions }: ShellCommand): Touched[] {
  const text = [
    ...args,
    input.text ?? "",
    printedBy(input.from.at(-1)) ?? "",
    ...substitutions.map(printedBy),
  ]
    .filter((one) => one !== undefined)
    .join("\n");
  const { options } = readOptions(
    args,
    { values: "dp", longValues: "directory strip" },
    { isPermuted: true },
  );
  const folder = valuesOf(options, "d", "directory").at(-1);
  const strip = valuesOf(options, "p", "strip").at(-1);
  return namesIn(text)
    .flatMap((path) =>
      name === "apply_patch" || name === "applypatch" ? [path] : stripped(path, name, strip),
    )
    .map((path) => ({
      field: folder === undefined || path.startsWith("/") ? path : `${folder}/${path}`,
      isWhole: false,
    }));
}

const FILE_LINE =
  /^(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|---|\+\+\+|\*\*\*|rename (?:from|to)|copy to|Index:)(?=[ \t])/;

/** Line by line: what follows a mark, up to a tab, without blanks and quotes. */
function namesIn(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => {
      const bare = line.trim();
      if (bare.startsWith("diff --git ")) return bare.slice(11).split(" ");
      const mark = FILE_LINE.exec(bare)?.[0];
      return mark === undefined ? [] : [(bare.slice(mark.length).trim().split("\t")[0] ?? "").trim()];
    })
    .map((path) => path.replace(/^"/, "").replace(/"$/, ""))
    .filter((path) => path !== "" && path !== "/dev/null");
}

/** Without as many folders in front as `-p` says: one for git, and all or none of them for `patch` without it. */
function stripped(path: string, name: string, strip: string | undefined): string[] {
  const parts = path.split("/");
  const counts = strip !== undefined ? [Number(strip)] : name === "git" ? [1] : [0, parts.length - 1];
  return counts.map((count) => parts.slice(Math.min(count, parts.length - 1)).join("/"));
}
