// Times and lengths in words, for people. Pure.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Keeps a number and its unit on one line. */
const GAP = "\u00a0";

/** `12 ms`, `1.23 s`, `3 min 05 s`, `2 h 07 min`. */
export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0) return `−${formatMs(-ms)}`;
  if (ms < SECOND) return `${Math.round(ms)}${GAP}ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 2 : 1)}${GAP}s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const [whole, one, part, other] =
    ms < HOUR ? [MINUTE, "min", SECOND, "s"] : ([HOUR, "h", MINUTE, "min"] as const);
  const rest = two(Math.floor((ms % whole) / part));
  return `${Math.floor(ms / whole)}${GAP}${one}${GAP}${rest}${GAP}${other}`;
}

/** `2026-07-01 10:00:05 UTC`, to the second. What is no time stays as it is. */
export function formatTime(at: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/.exec(at);
  return match === null ? at : `${match[1]} ${match[2]} UTC`;
}

/** `1 call`, `2 calls`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** At most so many UTF-16 units, and how many more there were. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} more characters)`;
}

/** A step for an axis: 1, 2 or 5 times a power of ten below a minute, and whole minutes and hours above. Milliseconds. */
export function axisStep(totalMs: number, ticks: number): number {
  const least = Math.max(1, totalMs / ticks);
  const steps = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE];
  const hours = [1, 2, 3, 6, 12, 24].map((hour) => hour * HOUR);
  if (least <= 30 * SECOND) {
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least) as number;
    if (step <= 30 * SECOND) return step;
  }
  if (least <= 30 * SECOND) return 30 * SECOND;
  const found = [...steps, ...hours].find((one) => one >= least);
  return found ?? Math.ceil(least / (24 * HOUR)) * 24 * HOUR;
}
