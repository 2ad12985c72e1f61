// Whole numbers of 64 bits: what the database can store of those that a JSON number can't hold. Pure.
import { Long } from "bson";

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** @param digits with a sign or without; undefined for a number beyond 64 bits */
export function int64(digits: string): Long | undefined {
  const whole = BigInt(digits);
  return whole >= INT64_MIN && whole <= INT64_MAX ? Long.fromBigInt(whole) : undefined;
}
