// The colours of a report, light and dark, as data: the style sheet is made from them, and a test computes their contrast.

export interface Shade {
  readonly light: string;
  readonly dark: string;
}

/** `paper` and `sheet` are behind text; `ink`, `quiet`, `link` and the tones are text or marks on them; `rule` and `track` only divide. */
export const COLOURS = {
  paper: { light: "#faf9f7", dark: "#161614" },
  sheet: { light: "#ffffff", dark: "#1e1e1b" },
  ink: { light: "#1d1c1a", dark: "#ebe9e4" },
  quiet: { light: "#5b5851", dark: "#aaa79f" },
  rule: { light: "#dedad2", dark: "#38362f" },
  track: { light: "#efece6", dark: "#2a2925" },
  link: { light: "#0b5394", dark: "#8fbdf3" },
  good: { light: "#1f6b3e", dark: "#74c795" },
  bad: { light: "#b01e1e", dark: "#ff8f80" },
  care: { light: "#855200", dark: "#e2b257" },
  work: { light: "#4457a6", dark: "#a3b2f5" },
  still: { light: "#625e56", dark: "#a19d94" },
} as const satisfies Record<string, Shade>;

export type Tone = "good" | "bad" | "care" | "work" | "still";
export const TONES: readonly Tone[] = ["good", "bad", "care", "work", "still"];

const BY_OUTCOME: Readonly<Record<string, Tone>> = {
  success: "good",
  failed: "bad",
  unenforced: "bad",
  refused: "bad",
  prompt_blocked: "bad",
  incomplete: "care",
  timed_out: "care",
  interrupted: "care",
  lost: "care",
  skipped: "still",
  waiting: "still",
  running: "work",
};

/** Always beside the word itself: no tone says anything alone. */
export function toneOf(outcome: string): Tone {
  return Object.hasOwn(BY_OUTCOME, outcome) ? (BY_OUTCOME[outcome] as Tone) : "still";
}

export function inWords(outcome: string): string {
  return outcome.replaceAll("_", " ");
}
