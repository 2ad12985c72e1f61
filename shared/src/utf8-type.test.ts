// Media types of bodies: which text, in which encoding.
import { describe, expect, it } from "@jest/globals";
import { utf8Type } from "./utf8-type.js";

describe("a body's media type", () => {
  it.each([
    ["application/json", "application/json"],
    ["Application/JSON", "application/json"],
    ["text/csv; charset=utf-8", "text/csv"],
    ['text/csv; header=present; Charset="UTF-8"', "text/csv"],
    ["text/csv ;charset=utf8", "text/csv"],
    ["application/json; profile=x", "application/json"],
  ])("of %s is %s", (header, type) => {
    expect(utf8Type(header)).toBe(type);
  });

  it.each([
    undefined,
    "",
    ";charset=utf-8",
    "text/csv; charset=latin1",
    'text/csv; charset="iso-8859-1"',
    "text/csv; charset=utf-16",
    "text/csv; charset=utf-8x",
    "text/csv; charset=",
  ])("of %j is none that is read", (header) => {
    expect(utf8Type(header)).toBeUndefined();
  });
});
