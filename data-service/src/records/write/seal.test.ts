// What is sealed opens as it was sealed, and only where.
import { describe, expect, it } from "@jest/globals";
import { Binary } from "bson";
import { column } from "../../query/library-fixture.js";
import { makeSealer } from "./seal.js";

const KEY = Buffer.alloc(32, 1);
const { seal, unseal } = makeSealer(KEY);
const royalty = column("books.royalty");
const other = column("books.note");
const NO_MATCH = "unable to authenticate data";

describe("a sealed value", () => {
  it("opens as what it was", () => {
    for (const value of ["ten percent", "", null, { percent: [10, "ß"] }])
      expect(unseal(seal(value, royalty), royalty)).toEqual(value);
  });

  it.each([
    ["of the nonce", 0],
    ["of the tag", 12],
    ["of the text", 28],
    ["of the text, the last", -1],
  ])("is refused when a byte %s is another", (_which, at) => {
    const bytes = Buffer.from(seal("ten percent", royalty).value());
    const place = at < 0 ? bytes.length + at : at;
    bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
    expect(() => unseal(new Binary(bytes), royalty)).toThrow(NO_MATCH);
  });

  it("is refused in another column, and in the same with another key", () => {
    const sealed = seal("ten percent", royalty);
    expect(() => unseal(sealed, other)).toThrow(NO_MATCH);
    expect(() => makeSealer(Buffer.alloc(32, 2)).unseal(sealed, royalty)).toThrow(NO_MATCH);
  });
});
