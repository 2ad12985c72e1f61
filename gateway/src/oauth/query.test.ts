// The query of an OAuth address has each value once, as text.
import { describe, expect, it } from "@jest/globals";
import { readOAuthQuery } from "./query.js";

const NAMES = ["code", "error", "error_code"];
const read = (search: string) => Object.fromEntries(readOAuthQuery(`/api/x${search}`, NAMES));

describe("readOAuthQuery", () => {
  it.each([
    ["", {}],
    ["?", {}],
    ["?code=a%20b&other=1&other=2", { code: "a b" }],
    ["?error=x&error_code=1&error_description=y", { error: "x", error_code: "1" }],
    ["?Code=a&codes=b&__proto__=c", {}],
    ["?code", { code: "" }],
  ])("reads %j", (search, expected) => expect(read(search)).toEqual(expected));

  it.each(["?code=a&code=a", "?code[]=a", "?code=a&code[0]=b", "?code[$ne]=a"])("refuses %j", (search) => {
    expect(() => read(search)).toThrow("code: give it once, as plain text");
  });
});
