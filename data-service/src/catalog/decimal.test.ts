// Exact decimals: one text for each number, and their order.
import { describe, expect, it } from "@jest/globals";
import { Decimal128 } from "bson";
import fc from "fast-check";
import { compareDecimals, isExactDecimal, plainDecimal } from "./decimal.js";

/** A decimal as whole digits and the number of them behind the point. */
const decimal = fc
  .record({
    digits: fc.bigInt({ min: -(10n ** 34n) + 1n, max: 10n ** 34n - 1n }),
    scale: fc.integer({ min: 0, max: 33 }),
  })
  .map(({ digits, scale }) => ({ digits, scale, text: textOf(digits, scale) }));

function textOf(digits: bigint, scale: number): string {
  const bare = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0");
  const sign = digits < 0n ? "-" : "";
  return scale === 0 ? sign + bare : `${sign}${bare.slice(0, -scale)}.${bare.slice(-scale)}`;
}

const SCALE = 40;
const scaled = ({ digits, scale }: { digits: bigint; scale: number }): bigint =>
  digits * 10n ** BigInt(SCALE - scale);
const sign = (value: bigint | number): number => (value < 0 ? -1 : value > 0 ? 1 : 0);

describe("exact decimals", () => {
  it.each([
    "0",
    "-0",
    "1",
    "-1.50",
    "007",
    "0.001",
    `${"9".repeat(34)}`,
    `0.${"0".repeat(30)}1`,
    `${"0".repeat(50)}1`,
  ])("%s is one", (text) => expect(isExactDecimal(text)).toBe(true));

  it.each([
    "",
    "-",
    ".5",
    "5.",
    "1e3",
    "+1",
    "1,5",
    " 1",
    "1 ",
    "NaN",
    "Infinity",
    "0x1",
    "1.2.3",
    "--1",
    "９",
    "1\n",
  ])("%j is none", (text) => expect(isExactDecimal(text)).toBe(false));

  it("has at most 34 significant digits and 100 characters", () => {
    expect(isExactDecimal("1".repeat(35))).toBe(false);
    expect(isExactDecimal(`1.${"0".repeat(34)}`)).toBe(false);
    expect(isExactDecimal(`${"0".repeat(100)}1`)).toBe(false);
  });

  it("is held by decimal128 without rounding and written back plainly", () => {
    fc.assert(
      fc.property(decimal, ({ text }) => {
        const written = plainDecimal(Decimal128.fromString(text).toString());
        expect(isExactDecimal(text)).toBe(true);
        expect(compareDecimals(written, text)).toBe(0);
      }),
    );
  });
});

describe("plain writing", () => {
  it.each([
    ["1.5E+3", "1500"],
    ["1E+2", "100"],
    ["-1.234E+1", "-12.34"],
    ["1E-7", "0.0000001"],
    ["0E-3", "0.000"],
    ["-12E-1", "-1.2"],
    ["1.5", "1.5"],
    ["NaN", "NaN"],
  ])("%s is %s", (text, plain) => {
    expect(plainDecimal(text)).toBe(plain);
  });

  it("keeps the value, as whole-number arithmetic says", () => {
    const exponent = fc.integer({ min: -30, max: 30 });
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), exponent, (digits, power) => {
        const plain = plainDecimal(`${digits}E${power}`);
        const [whole = "", fraction = ""] = plain.replace("-", "").split(".");
        const value = BigInt(whole + fraction.padEnd(30, "0")) * (digits < 0n ? -1n : 1n);
        expect(value).toBe(digits * 10n ** BigInt(power + 30));
      }),
    );
  });
});

describe("comparing", () => {
  it("agrees with whole-number arithmetic", () => {
    fc.assert(
      fc.property(decimal, decimal, (a, b) => {
        expect(compareDecimals(a.text, b.text)).toBe(sign(scaled(a) - scaled(b)));
      }),
    );
  });

  it.each([
    ["1", "1.000", 0],
    ["-0", "0.0", 0],
    ["-1", "1", -1],
    ["0.1", "0.09", 1],
    ["-0.1", "-0.09", -1],
    ["10", "9", 1],
    ["00010", "10", 0],
  ])("%s against %s is %i", (a, b, order) => {
    expect(compareDecimals(a, b)).toBe(order);
  });
});
