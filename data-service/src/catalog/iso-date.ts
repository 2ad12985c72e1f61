// ISO 8601 text -> Date, strictly: only real calendar days, and a time only with its offset.

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
/** The offset may be shorter than RFC 3339 has it: `+02`, as PostgreSQL writes it, and `+0200`. */
const INSTANT =
  /^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)$/i;

/** A year that four digits can't write, as JavaScript writes it. */
const FAR = /^[+-]\d{6}-/;

/** A calendar day such as `2024-02-29`, as midnight UTC; undefined when it is not one. */
export function parseDay(text: string): Date | undefined {
  const match = DAY.exec(text);
  if (match === null) return undefined;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date : undefined;
}

/**
 * An instant with its offset, to the millisecond; finer fractions are cut. A date alone is its midnight UTC. Undefined if
 * the offset leads out of the years 0000 to 9999: instants beyond are read only in the one form in which they are shown.
 */
export function parseInstant(text: string): Date | undefined {
  if (FAR.test(text)) return parseFarInstant(text);
  const match = INSTANT.exec(text);
  if (match === null) return parseDay(text);
  const [, dayText = "", hour = "", minute = "", second = "0", fraction = "", zone = ""] = match;
  const day = parseDay(dayText);
  const offset = offsetMinutes(zone);
  if (day === undefined || offset === undefined) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const milliseconds = Number(fraction.padEnd(3, "0").slice(0, 3));
  const minutes = Number(hour) * 60 + Number(minute) - offset;
  const instant = new Date(day.getTime() + minutes * 60_000 + Number(second) * 1000 + milliseconds);
  const year = instant.getUTCFullYear();
  return year >= 0 && year <= 9999 ? instant : undefined;
}

/** Other programs store such times, for "never" for instance. */
function parseFarInstant(text: string): Date | undefined {
  const instant = new Date(text);
  const isShownSo = !Number.isNaN(instant.getTime()) && instant.toISOString() === text;
  return isShownSo ? instant : undefined;
}

function offsetMinutes(zone: string): number | undefined {
  if (zone.toUpperCase() === "Z") return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(":", ""))];
  // RFC 3339, section 5.6. Zones reach from -12:00 to +14:00 today, and a few hours further in former centuries.
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}
