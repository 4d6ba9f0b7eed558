// When a provider says that its limit resets: from its words. Pure. What is not understood is undefined, never a guess.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = String.raw`\d+(?:\.\d+)?\s*(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b`;
const IN = new RegExp(`(?:try again|retry|resets?) (?:in|after)\\s+((?:${DURATION}[\\s,]*(?:and )?)+)`, "i");
const PARTS = new RegExp(
  DURATION.replace("(?:ms", "(ms").replace(String.raw`\d+(?:\.\d+)?`, String.raw`(\d+(?:\.\d+)?)`),
  "gi",
);
/** claude: `usage limit reached|1764536400`. */
const EPOCH = /limit reached\|(\d{10})\b/;
/** claude: `resets 3pm (Europe/Berlin)`; codex: `try again at 3:05 PM`. */
const CLOCK =
  /(?:resets?(?: at)?|try again at) (\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b\.?(?: \(([A-Za-z_]+(?:\/[A-Za-z_+\-0-9]+)*)\))?/i;

/** Milliseconds since the epoch. */
export function readResetTime(words: string, now: number): number | undefined {
  const epoch = EPOCH.exec(words)?.[1];
  if (epoch !== undefined) return Number(epoch) * 1_000;
  const duration = IN.exec(words)?.[1];
  if (duration !== undefined) return now + readDuration(duration);
  const clock = CLOCK.exec(words);
  if (clock === null) return undefined;
  const [, hour, minute = "0", half, zone] = clock;
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === "p" ? 12 : 0);
  return nextTimeOfDay(hours * 60 + Number(minute), zone, now);
}

function readDuration(words: string): number {
  let sum = 0;
  for (const [, count, unit = ""] of words.matchAll(PARTS)) {
    const isMs = /^m(?:s|illi)/i.test(unit);
    sum += Number(count) * (UNITS[isMs ? "ms" : unit.charAt(0).toLowerCase()] ?? 0);
  }
  return Math.ceil(sum);
}

/** The next moment at which a clock in the zone shows this. Undefined for a zone that is not known. */
function nextTimeOfDay(minuteOfDay: number, zone: string | undefined, now: number): number | undefined {
  const shown = minuteShown(now, zone);
  if (shown === undefined || minuteOfDay >= 24 * 60) return undefined;
  const wait = (minuteOfDay - shown + 24 * 60) % (24 * 60);
  const wholeMinute = now - (now % 60_000);
  return wholeMinute + (wait === 0 ? 24 * 60 : wait) * 60_000;
}

function minuteShown(at: number, zone: string | undefined): number | undefined {
  try {
    const format = new Intl.DateTimeFormat("en-GB", {
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
      ...(zone === undefined ? {} : { timeZone: zone }),
    });
    const [hour, minute] = format.format(at).split(":").map(Number);
    return hour === undefined || minute === undefined ? undefined : hour * 60 + minute;
  } catch {
    return undefined; // Intl does not know the zone
  }
}
