// Days and times as text: which are read, and as what.
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseDay, parseInstant } from "./iso-date.js";

describe("a day", () => {
  it.each([
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01", "0001-01-01T00:00:00.000Z"],
    ["0000-12-31", "0000-12-31T00:00:00.000Z"],
    ["9999-12-31", "9999-12-31T00:00:00.000Z"],
  ])("%s is its midnight UTC", (text, instant) => {
    expect(parseDay(text)?.toISOString()).toBe(instant);
  });

  it.each([
    ...["2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00", "2024-01-32"],
    ...[
      "24-01-01",
      "2024-1-1",
      "2024/01/01",
      "20240101",
      "2024-01-01T00:00:00Z",
      "",
      " 2024-01-01",
      "+002024-01-01",
    ],
  ])("%j is none", (text) => {
    expect(parseDay(text)).toBeUndefined();
  });

  it("is read back as it was written", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
        (date) => {
          const day = date.toISOString().slice(0, 10);
          expect(parseDay(day)?.toISOString().slice(0, 10)).toBe(day);
        },
      ),
    );
  });
});

describe("an instant", () => {
  it.each([
    ["2024-05-31T12:00:00Z", "2024-05-31T12:00:00.000Z"],
    ["2024-05-31T12:00Z", "2024-05-31T12:00:00.000Z"],
    ["2024-05-31t12:00:00z", "2024-05-31T12:00:00.000Z"],
    ["2024-05-31T12:00:00.1Z", "2024-05-31T12:00:00.100Z"],
    ["2024-05-31T12:00:00.123456789Z", "2024-05-31T12:00:00.123Z"],
    ["2024-05-31T12:00:00.999999Z", "2024-05-31T12:00:00.999Z"],
    ["2024-05-31T12:00:00+02:00", "2024-05-31T10:00:00.000Z"],
    ["2024-05-31T12:00:00+02", "2024-05-31T10:00:00.000Z"],
    ["2024-05-31T12:00:00-0130", "2024-05-31T13:30:00.000Z"],
    ["2024-12-31T23:30:00-01:30", "2025-01-01T01:00:00.000Z"],
    ["2024-03-01T00:30:00+05:45", "2024-02-29T18:45:00.000Z"],
    ["2024-05-31T12:00:00-00:00", "2024-05-31T12:00:00.000Z"],
    ["2024-05-31", "2024-05-31T00:00:00.000Z"],
  ])("%s is %s", (text, instant) => {
    expect(parseInstant(text)?.toISOString()).toBe(instant);
  });

  it.each([
    ...["2024-05-31T12:00:00", "2024-05-31 12:00:00Z", "2024-05-31T24:00:00Z", "2024-05-31T12:60:00Z"],
    ...[
      "2024-05-31T12:00:60Z",
      "2023-02-29T12:00:00Z",
      "2024-05-31T12:00:00+2:00",
      "2024-05-31T12:00:00+020",
      "2024-05-31T12:00:00+02:",
      "2024-05-31T12:00:00+0260",
    ],
    ...["2024-05-31T12:00:00+24:00", "2024-05-31T12:00:00+02:60", "2024-05-31T12Z", "2024-05-31T12:00:00.Z"],
    ...["now", "", "0", "1717156800000", "2024-05-31T12:00:00Z ", "Fri, 31 May 2024 12:00:00 GMT"],
  ])("%j is none", (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  it("does not leave the years that four digits can write", () => {
    expect(parseInstant("9999-12-31T23:59:59.999Z")?.toISOString()).toBe("9999-12-31T23:59:59.999Z");
    expect(parseInstant("9999-12-31T23:59:59-14:00")).toBeUndefined();
    expect(parseInstant("0000-01-01T00:00:00Z")?.toISOString()).toBe("0000-01-01T00:00:00.000Z");
    expect(parseInstant("0000-01-01T00:00:00+14:00")).toBeUndefined();
  });

  it("is read back as it was written, whatever the year", () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), (date) => {
        expect(parseInstant(date.toISOString())?.getTime()).toBe(date.getTime());
      }),
    );
  });

  it.each([
    ...[
      "+010000-01-01T00:00:00Z",
      "+010000-01-01T02:00:00.000+02:00",
      "+010000-01-01",
      "+010000-02-30T00:00:00.000Z",
    ],
    ...["+002024-01-01T00:00:00.000Z", "-000000-01-01T00:00:00.000Z", "+275760-09-13T00:00:00.001Z"],
    ...["10000-01-01T00:00:00.000Z", "010000-01-01T00:00:00.000Z"],
  ])("%j is not how a year of more than four digits is written", (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  it("is the same in every offset", () => {
    const offset = fc.integer({ min: -24 * 60 + 1, max: 24 * 60 - 1 });
    const range = { min: new Date("0001-01-01"), max: new Date("9998-12-31"), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(range), offset, (date, minutes) => {
        const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
        const two = (value: number): string => String(value).padStart(2, "0");
        const size = Math.abs(minutes);
        const zone = `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
        expect(parseInstant(local + zone)?.getTime()).toBe(date.getTime());
        expect(parseInstant(date.toISOString())?.getTime()).toBe(date.getTime());
      }),
    );
  });
});
