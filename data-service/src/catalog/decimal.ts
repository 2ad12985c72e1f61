// Exact decimals: reading, plain writing and comparing, without floating point.

const PLAIN = /^-?\d+(?:\.\d+)?$/;
const MAX_DIGITS = 34;

/** True for digits with or without a sign and a fraction, as many as there may be. */
export function isPlainDecimal(text: string): boolean {
  return PLAIN.test(text);
}

/** True when the text is a plain decimal that decimal128 holds without rounding (34 significant digits). */
export function isExactDecimal(text: string): boolean {
  if (!isPlainDecimal(text) || text.length > 100) return false;
  const digits = text.replace(/[-.]/g, "").replace(/^0+/, "");
  return digits.length <= MAX_DIGITS;
}

/** Rewrites `1.5E+3` as `1500`; text without an exponent comes back as it is. */
export function plainDecimal(text: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?E([+-]?\d+)$/i.exec(text);
  if (match === null) return text;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits.padEnd(point, "0");
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Compares two plain decimals: negative, zero or positive. */
export function compareDecimals(a: string, b: string): number {
  const [left, right] = [split(a), split(b)];
  const scale = Math.max(left.fraction.length, right.fraction.length);
  const difference = scaled(left, scale) - scaled(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function split(text: string): { sign: bigint; whole: string; fraction: string } {
  const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
  return { sign: text.startsWith("-") ? -1n : 1n, whole, fraction };
}

function scaled(part: ReturnType<typeof split>, scale: number): bigint {
  return part.sign * BigInt(part.whole + part.fraction.padEnd(scale, "0"));
}
