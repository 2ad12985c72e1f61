// CSV cells keep their text, and never begin a formula.
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import fc from "fast-check";
import type { Column } from "../catalog/catalog.js";
import type { ColumnType } from "../catalog/column-types.js";
import { cellOf, columnValue } from "./cells.js";

const column = (type: ColumnType): Column => ({ type }) as Column;

describe("cells", () => {
  it.each<[ColumnType, string, string]>([
    ["string", "=1+1", "'=1+1"],
    ["text", "+49", "'+49"],
    ["string", "-5", "'-5"],
    ["enum", "@x", "'@x"],
    ["string", "\t=", "'\t="],
    ["string", "\r", "'\r"],
    ["string", "\n=1", "'\n=1"],
    ["string", "\uFF1D1", "'\uFF1D1"],
    ["string", "'=1", "''=1"],
    ["string", "'quoted'", "'quoted'"],
    ["string", "a=1", "a=1"],
    ["bigint", "-5", "-5"],
    ["decimal", "-1.50", "-1.50"],
    ["decimal", "-1.5E+6", "-1.5E+6"],
    ["int", "=1+1", "'=1+1"],
    ["date", "@SUM(A1)", "'@SUM(A1)"],
    ["float", "-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"],
    ["mixed", "+x", "'+x"],
    ["mixed", "'=x", "''=x"],
  ])("of the type %s hold %j as %j", (type, value, expected) => {
    expect(cellOf(type, value)).toBe(expected);
  });

  it("never begin a formula when they hold text", () => {
    const beginnings = [
      "",
      "'",
      "=",
      "+",
      "-",
      "@",
      "\t",
      "\r",
      "\n",
      "\uFF1D",
      "\uFF0B",
      "\uFF0D",
      "\uFF20",
    ];
    const texts = fc.tuple(fc.constantFrom(...beginnings), fc.string({ unit: "binary" }));
    const property = fc.property(texts, ([beginning, rest]) => {
      const text = beginning + rest;
      for (const type of ["text", "mixed", "datetime"] as const) {
        const cell = cellOf(type, text);
        if (type === "text" || !Number.isFinite(Number(cell)))
          expect(cell).not.toMatch(/^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/);
      }
    });
    fc.assert(property);
  });

  it("give back the text they were made of", () => {
    const pieces = fc.array(fc.constantFrom("'", "=", "-", "@", "\t", "a", " "), { maxLength: 6 });
    const property = fc.property(pieces, (parts) => {
      const text = parts.join("");
      for (const type of ["text", "mixed"] as const)
        expect(columnValue(column(type), cellOf(type, text))).toEqual({ kind: "json", json: text });
    });
    fc.assert(property);
  });

  it.each<[ColumnType, string, Json]>([
    ["int", " 5 ", 5],
    ["int", "1.5", "1.5"],
    ["float", "1e+21", 1e21],
    ["boolean", "TRUE", true],
    ["boolean", "yes", "yes"],
    ["json", "null", null],
    ["enumList", '["a"]', ["a"]],
    ["string", " 5 ", " 5 "],
  ])("of a column of the type %s: %j is %j", (type, cell, expected) => {
    expect(columnValue(column(type), cell)).toEqual({ kind: "json", json: expected });
  });

  it("of a column of JSON is no value when it is no JSON, or has a name twice", () => {
    expect(columnValue(column("json"), "{").kind).toBe("malformed");
    expect(columnValue(column("json"), '{"a":1,"a":2}')).toMatchObject({
      kind: "refused",
      problem: { place: "a" },
    });
  });
});
