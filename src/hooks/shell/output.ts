// What simple commands print, as far as their words say it: `echo rm`, `pwd`, `mktemp`. Pure.

import type { ShellCommand } from "./command.ts";

/** Undefined when it cannot be told. */
export function printedBy(
  command: Pick<ShellCommand, "name" | "args" | "directories" | "input"> | undefined,
): string | undefined {
  if (command === undefined) return undefined;
  const { name, args, directories, input } = command;
  switch (name) {
    case "echo":
      return decodeEscapes(args.filter((arg, index) => index > 0 || !/^-[neE]+$/.test(arg)).join(" "));
    case "printf":
      return print(args);
    case "pwd":
      return directories[0];
    case "mktemp":
      return "/tmp/made/by-mktemp";
    case "git":
      return args.join(" ") === "rev-parse --show-toplevel" ? directories[0] : undefined;
    case "which":
      return args.length === 1 ? args[0] : undefined;
    case "command":
      return args.length === 2 && args[0] === "-v" ? args[1] : undefined;
    case "tee":
      return input.text ?? printedBy(input.from.at(-1));
    case "cat":
      return args.every((arg) => arg === "-") ? (input.text ?? printedBy(input.from.at(-1))) : undefined;
    default:
      return undefined;
  }
}

function print([format = "", ...args]: readonly string[]): string | undefined {
  if (/%(?![sb%])/.test(format)) return undefined;
  if (!/%[sb]/.test(format)) return decodeEscapes(format);
  let rest = [...args];
  let output = "";
  do {
    output += format.replaceAll(/%[sb]/g, () => rest.shift() ?? "");
  } while (rest.length > 0);
  rest = [];
  return decodeEscapes(output.replaceAll("%%", "%"));
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  "\\": "\\",
  r: "\r",
  a: "",
  b: "",
  e: "",
  c: "",
};

/** As `echo -e` would: read so even without, for then it only says more. */
function decodeEscapes(text: string): string {
  return text
    .replaceAll(/\\x([0-9a-fA-F]{1,2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll(/\\0?([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    .replaceAll(/\\([ntrabec\\])/g, (_, letter: string) => ESCAPES[letter] ?? letter);
}
