// Reads a moment that somebody wrote down. Must never take a day that there is not for another one, nor local time for UTC. Pure.

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/;
/** What `toISOString` writes of the years 0 to 9999: compared as text, it is in order. */
const PLAIN_LENGTH = "2026-07-01T00:00:00.000Z".length;

/** ISO 8601, UTC unless it says otherwise; a date is its midnight. Undefined for everything else, the 30th of February too. */
export function readIsoTime(text: string): string | undefined {
  const [, year, month, day, zone] = ISO.exec(text) ?? [];
  if (year === undefined) return undefined;
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
  // A month has days that only some months have: JavaScript goes on into the next one.
  if (midnight.getUTCDate() !== Number(day)) return undefined;
  return toIsoTime(new Date(zone === undefined && text.includes("T") ? `${text}Z` : text));
}

/** Undefined for a Date that holds none, or one that would not sort as text. */
export function toIsoTime(time: Date): string | undefined {
  if (Number.isNaN(time.getTime())) return undefined;
  const text = time.toISOString();
  return text.length === PLAIN_LENGTH ? text : undefined;
}
