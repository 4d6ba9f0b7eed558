// Files and commands made up for the fuzz: pairs in lists, so that keys may stand twice.

import fc from "fast-check";
import { EVENT_NAMES } from "../../src/profile/events.ts";

type Made =
  | string
  | number
  | boolean
  | null
  | Made[]
  | { readonly pairs: readonly (readonly [string, Made])[]; readonly isItem?: true };

const text = fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: "binary", maxLength: 6 }));
const scalar: fc.Arbitrary<Made> = fc.oneof(
  text,
  fc.double({ noNaN: true }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const anything: fc.Arbitrary<Made> = fc.letrec<{ value: Made }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.array(fc.tuple(text, tie("value")), { maxLength: 3 }).map((pairs) => ({ pairs })),
  ),
})).value;
const odd = <T extends Made>(usual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: usual as fc.Arbitrary<Made> }, { weight: 1, arbitrary: anything });

const calmPiece = fc.constantFrom(
  ...[
    "node",
    "./a.sh",
    "-x",
    "--k=v",
    "it",
    "é",
    "a.b/c",
    "=",
    ":",
    "/",
    "'a b'",
    '"a b"',
    "'$x'",
    '"it\'s"',
    "''",
    "x'y'\"z\"",
  ],
  ...[
    "$CLAUDE_PROJECT_DIR/q",
    "${CLAUDE_PLUGIN_ROOT}/r",
    "'${CLAUDE_PLUGIN_ROOT}/y'",
    '"$CLAUDE_PROJECT_DIR"/z',
    "~/s",
    '"$HOME/t"',
  ],
  '"$(git rev-parse --show-toplevel)/u"',
);
const wildPiece = fc.oneof(
  fc.constantFrom(
    "node",
    " ",
    " ",
    " ",
    "'",
    '"',
    "#",
    "~/",
    "~",
    "$HOME/",
    "${HOME}",
    "$OTHER",
    '"$x"',
    "{home}",
    "{",
    "}",
  ),
  fc.constantFrom(
    "$CLAUDE_PROJECT_DIR",
    "${CLAUDE_PROJECT_DIR}",
    "${CLAUDE_PLUGIN_ROOT}",
    "$(git rev-parse --show-toplevel)",
  ),
  fc.constantFrom(
    "|",
    "&",
    ";",
    "<",
    ">",
    "(",
    ")",
    "$",
    "`",
    "\\",
    "*",
    "?",
    "[",
    "]",
    "!",
    "\n",
    "\t",
    "{a,b}",
    "|| true",
    "&& x",
    "2>&1",
  ),
  fc.string({ maxLength: 3 }),
);
export const shellText = fc.oneof(
  fc.array(calmPiece, { minLength: 1, maxLength: 6 }).map((words) => words.join(" ")),
  fc.array(fc.oneof(calmPiece, wildPiece), { maxLength: 8 }).map((pieces) => pieces.join("")),
  fc.array(wildPiece, { maxLength: 8 }).map((pieces) => pieces.join("")),
);

const handler: fc.Arbitrary<Made> = fc
  .record(
    {
      type: odd(fc.constantFrom("command", "command", "command", "http", "prompt")),
      command: odd(shellText),
      args: odd(fc.array(text, { maxLength: 3 })),
      timeout: odd(fc.oneof(fc.integer({ min: -2, max: 40_000 }), fc.double())),
      async: odd(fc.boolean()),
      once: odd(fc.boolean()),
      if: odd(text),
      enabled: odd(fc.boolean()),
      statusMessage: odd(text),
    },
    { requiredKeys: [] },
  )
  .chain((fields) => {
    const pairs = Object.entries(fields) as [string, Made][];
    const base: [string, Made][] = [["type", "command"], ...pairs.filter(([key]) => key !== "type")];
    return fc.constantFrom(base, base, base, pairs, [...pairs, ...pairs.slice(0, 1)]);
  })
  .map((pairs) => ({ pairs, isItem: true as const }));

const group: fc.Arbitrary<Made> = fc
  .tuple(
    odd(fc.array(odd(handler), { maxLength: 3 })),
    fc.option(odd(fc.constantFrom("", "*", "Bash", "Edit|Write", "^mcp__.*$", "*.ts", "(?!x)")), {
      nil: undefined,
    }),
    fc.array(fc.tuple(fc.constantFrom("hooks", "if", "enabled", "description", "x"), anything), {
      maxLength: 1,
    }),
    fc.boolean(),
  )
  .map(([hooks, matcher, extra, isRare]) => ({
    pairs: [
      ...(matcher === undefined ? [] : [["matcher", matcher] as const]),
      ["hooks", hooks] as const,
      ...(isRare ? extra : []),
    ],
  }));

const eventName = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<string>(...EVENT_NAMES) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "Bash",
      "stop",
      "ConfigChange",
      "__proto__",
      "constructor",
      "toString",
      "state",
      "hooks",
    ),
  },
  { weight: 1, arbitrary: text },
);
const events: fc.Arbitrary<Made> = fc
  .array(fc.tuple(eventName, odd(fc.array(odd(group), { maxLength: 2 }))), { maxLength: 3 })
  .map((pairs) => ({ pairs }));
export const settingsFile: fc.Arbitrary<Made> = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: fc.tuple(fc.constant("hooks"), odd(events)) },
      {
        weight: 1,
        arbitrary: fc.tuple(
          fc.constantFrom("permissions", "notify", "version", "disableAllHooks", "Stop"),
          anything,
        ),
      },
    ),
    { maxLength: 2 },
  )
  .map((pairs) => ({ pairs }));

/** JSON text, with a marker in each handler that stands where a handler belongs. */
export function print(file: Made): { text: string; markers: string[] } {
  const markers: string[] = [];
  const printed = (value: Made): string => {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    if (Array.isArray(value)) return `[${value.map(printed).join(",\n")}]`;
    const pairs = value.pairs.map(([key, inner]) => `${JSON.stringify(key)}:${printed(inner)}`);
    if (value.isItem === true) {
      const marker = `marker-${markers.length}`;
      markers.push(marker);
      pairs.push(`"label":"${marker}"`);
    }
    return `{${pairs.join(",")}}`;
  };
  return { text: printed(file), markers };
}
