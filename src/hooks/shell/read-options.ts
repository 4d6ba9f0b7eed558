// Reads options as getopt does: letters in clusters, values attached or in the next word, long names cut short. What a table does not know
// may take a value or not: both are told, never guessed. Pure.

export interface OptionTable {
  /** Letters without a value. */
  readonly flags?: string;
  /** Letters whose value is attached or is the next word. */
  readonly values?: string;
  /** Long names without a value, or with one that is only attached; blank-separated. */
  readonly longFlags?: string;
  /** Long names whose value is attached or is the next word; blank-separated. */
  readonly longValues?: string;
}

export interface Option {
  /** A letter, or a long name without its dashes, whole where the table knows it. */
  readonly name: string;
  readonly value?: string;
}

interface Step {
  readonly options: readonly Option[];
  /** Where the next word may stand; two places when it cannot be told whether a value was taken. */
  readonly next: readonly number[];
}

/** Undefined: no option stands there. */
function stepAt(args: readonly string[], at: number, table: OptionTable): Step | undefined {
  const arg = args[at];
  if (arg === undefined || !/^-./.test(arg) || arg === "--") return undefined;
  return arg.startsWith("--")
    ? longAt(arg.slice(2), args, at, table)
    : lettersAt(arg.slice(1), args, at, table);
}

function longAt(text: string, args: readonly string[], at: number, table: OptionTable): Step {
  const [given = "", attached] = text.split(/=(.*)/s);
  const { longFlags = "", longValues = "" } = table;
  const flag = wholeName(given, longFlags);
  const taking = wholeName(given, longValues);
  const name = taking === given || flag === undefined ? (taking ?? given) : flag;
  if (attached !== undefined) return { options: [{ name, value: attached }], next: [at + 1] };
  if (name === taking) return { options: [withValue(name, args[at + 1])], next: [at + 2] };
  return { options: [{ name }], next: flag === undefined ? [at + 1, at + 2] : [at + 1] };
}

/** A long name may be cut short. */
function wholeName(given: string, names: string): string | undefined {
  const all = names.split(" ").filter((name) => name !== "");
  return all.includes(given) ? given : all.find((name) => name.startsWith(given));
}

function lettersAt(
  letters: string,
  args: readonly string[],
  at: number,
  { flags = "", values = "" }: OptionTable,
): Step {
  const options: Option[] = [];
  let isSure = true;
  for (const [index, name] of [...letters].entries()) {
    if (values.includes(name)) {
      const attached = letters.slice(index + 1);
      options.push(withValue(name, attached === "" ? args[at + 1] : attached));
      const end = attached === "" ? at + 2 : at + 1;
      return { options, next: isSure || attached === "" ? [end] : [end, at + 2] };
    }
    options.push({ name });
    if (!flags.includes(name) && !/\d/.test(name)) isSure = false;
  }
  return { options, next: isSure ? [at + 1] : [at + 1, at + 2] };
}

function withValue(name: string, value: string | undefined): Option {
  return value === undefined ? { name } : { name, value };
}

/** Each place at which the first word behind the options may stand: one, unless options are unknown. */
export function operandStarts(args: readonly string[], table: OptionTable): readonly number[] {
  const found = new Set<number>();
  const seen = new Set<number>();
  const waiting = [0];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (seen.has(at) || at >= args.length) continue;
    seen.add(at);
    const step = stepAt(args, at, table);
    if (step !== undefined) waiting.push(...step.next);
    else found.add(args[at] === "--" ? at + 1 : at);
  }
  return [...found].filter((at) => at < args.length).sort((one, other) => one - other);
}

/**
 * Options and the other words. `isPermuted`: options may stand behind them too (as GNU programs read); else the first other word ends them.
 * Options that the table does not know take no value.
 */
export function readOptions(
  args: readonly string[],
  table: OptionTable,
  { isPermuted = false }: { isPermuted?: boolean } = {},
): { readonly options: readonly Option[]; readonly operands: readonly string[] } {
  const options: Option[] = [];
  const operands: string[] = [];
  let at = 0;
  while (at < args.length) {
    const step = stepAt(args, at, table);
    if (step !== undefined) {
      options.push(...step.options);
      at = step.next[0] as number;
    } else if (args[at] === "--" || !isPermuted) {
      operands.push(...args.slice(args[at] === "--" ? at + 1 : at));
      break;
    } else {
      operands.push(args[at] as string);
      at += 1;
    }
  }
  return { options, operands };
}

/** Values that were given to any of these options. */
export function valuesOf(options: readonly Option[], ...names: readonly string[]): string[] {
  return options.flatMap(({ name, value }) => (names.includes(name) && value !== undefined ? [value] : []));
}
