// What values of a column type mean: which are equal, which comes first, which text is in which, exact sums.
import type { Column, ColumnType, Json } from "./model.js";

/** Below, at or above zero, in the order of the type. Neither value is null. */
export function order(type: ColumnType, a: Json, b: Json): number {
  switch (type) {
    case "int":
    case "float":
      return Number(a) - Number(b);
    case "boolean":
      return Number(a) - Number(b);
    case "bigint":
      return sign(BigInt(String(a)) - BigInt(String(b)));
    case "decimal":
      return compareExact(exact(String(a)), exact(String(b)));
    case "datetime":
      return instantOf(String(a)) - instantOf(String(b));
    case "uuid":
    case "objectId":
      return byCodePoint(String(a).toLowerCase(), String(b).toLowerCase());
    case "string":
    case "text":
    case "enum":
    case "date":
      return byCodePoint(String(a), String(b));
    case "json":
    case "enumList":
      throw new Error(`${type} has no order`);
  }
}

/** A bare day is its midnight UTC. */
export function instantOf(text: string): number {
  return Date.parse(text);
}

export function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const difference = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Case-insensitive by simple case folding, character by character; nothing is normalised. */
export function textMatches(where: "contains" | "starts" | "ends", text: string, part: string): boolean {
  const [inside, wanted] = [[...text], [...part]];
  const places = inside.length - wanted.length;
  if (places < 0) return false;
  const starts = where === "starts" ? [0] : where === "ends" ? [places] : upTo(places);
  return starts.some((start) =>
    wanted.every((character, at) => sameLetter(character, inside[start + at] ?? "")),
  );
}

function sameLetter(a: string, b: string): boolean {
  if (a === b) return true;
  const point = (a.codePointAt(0) ?? 0).toString(16);
  return new RegExp(`^\\u{${point}}$`, "iu").test(b);
}

function upTo(last: number): number[] {
  return Array.from({ length: last + 1 }, (_, at) => at);
}

/** Does the operand fit the column? What contract 4.1 demands of operands. */
export function fits(column: Column, value: Json): boolean {
  switch (column.type) {
    case "string":
    case "text":
      return typeof value === "string" && value.length <= 1024;
    case "int":
      return Number.isSafeInteger(value);
    case "float":
      return typeof value === "number";
    case "bigint":
      return typeof value === "string" && /^-?\d{1,19}$/.test(value);
    case "decimal":
      return typeof value === "string" && /^-?(?=(\d\.?){1,34}$)\d+(\.\d+)?$/.test(value);
    case "boolean":
      return typeof value === "boolean";
    case "date":
      return typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value);
    case "datetime":
      return typeof value === "string" && !Number.isNaN(instantOf(value));
    case "enum":
    case "enumList":
      return typeof value === "string" && (column.values?.includes(value) ?? false);
    case "uuid":
      return typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
    case "objectId":
      return typeof value === "string" && /^[0-9a-f]{24}$/i.test(value);
    case "json":
      return false;
  }
}

/** `digits` times ten to the minus `scale`. */
export interface Exact {
  readonly digits: bigint;
  readonly scale: number;
}

export function exact(text: string): Exact {
  const [, minus = "", whole = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  return { digits: BigInt(`${minus}${whole}${fraction}`), scale: fraction.length };
}

function atScale({ digits, scale }: Exact, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale);
}

export function compareExact(a: Exact, b: Exact): number {
  const scale = Math.max(a.scale, b.scale);
  return sign(atScale(a, scale) - atScale(b, scale));
}

export function addExact(a: Exact, b: Exact): Exact {
  const scale = Math.max(a.scale, b.scale);
  return { digits: atScale(a, scale) + atScale(b, scale), scale };
}

/** A quotient to 34 digits, as many as a decimal holds; ties go to the even digit. */
export function divideExact({ digits, scale }: Exact, by: number): Exact {
  const places = 40;
  const scaled = digits * 10n ** BigInt(places);
  const sticky = scaled % BigInt(by) === 0n ? 0n : 1n;
  // One more digit says whether anything follows, so that rounding again can't go wrong.
  const long = (scaled / BigInt(by)) * 10n + (digits < 0n ? -sticky : sticky);
  return rounded({ digits: long, scale: scale + places + 1 });
}

/** To 34 significant digits. */
export function rounded({ digits, scale }: Exact): Exact {
  const length = String(digits < 0n ? -digits : digits).length;
  if (length <= 34) return { digits, scale };
  const unit = 10n ** BigInt(length - 34);
  const magnitude = digits < 0n ? -digits : digits;
  const [quotient, rest] = [magnitude / unit, magnitude % unit];
  const up = rest * 2n > unit || (rest * 2n === unit && quotient % 2n === 1n);
  const kept = up ? quotient + 1n : quotient;
  return { digits: digits < 0n ? -kept : kept, scale: scale - (length - 34) };
}

/** The shortest spelling. */
export function spell({ digits, scale }: Exact): string {
  if (scale <= 0) return String(digits * 10n ** BigInt(-scale));
  const minus = digits < 0n ? "-" : "";
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0");
  const fraction = text.slice(-scale).replace(/0+$/, "");
  const whole = text.slice(0, -scale);
  return `${minus}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}
