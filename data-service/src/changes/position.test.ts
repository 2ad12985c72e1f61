// The `id:` of an event leads back to its place in the journal, tells nothing, and can't be forged.
import { createCipheriv, hkdfSync, randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { makePositions } from "./position.js";

const entry = "0123456789abcdef01234567";
const table = { id: "t", journalEpoch: 3 };
const reader = "Zm9vYmFy-Zm9vYmFyZm9v_";

/** A position as earlier versions have written it. */
function sealed(encryptionKey: Buffer, plain: string): string {
  const key = Buffer.from(hkdfSync("sha256", encryptionKey, "", "portico journal positions", 32));
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(table.id));
  const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
}

describe("a position", () => {
  const positions = makePositions(randomBytes(32));

  it.each([
    { number: 0, entry: "" },
    { number: 1, entry },
    { number: 9_007_199_254_740_991, entry },
  ])("%j comes back as it was", (position) => {
    const text = positions.write(position, table, reader);
    expect(positions.read(text, table)).toEqual({ position, epoch: 3, reader });
  });

  it("comes back with its reader, however late", () => {
    const position = { number: 9_007_199_254_740_991, entry };
    const late = { id: "t", journalEpoch: 9_007_199_254_740_991 };
    expect(positions.read(positions.write(position, late, reader), late)?.reader).toBe(reader);
  });

  it.each([
    [`5 ${entry}`, 0],
    [`5 ${entry} 3`, 3],
  ])("of an earlier version, %p, names no reader", (plain, epoch) => {
    const encryptionKey = randomBytes(32);
    const place = makePositions(encryptionKey).read(sealed(encryptionKey, plain), table);
    expect(place).toEqual({ position: { number: 5, entry }, epoch, reader: undefined });
  });

  it("reads differently each time, so that it tells nothing of how much is written", () => {
    const position = { number: 5, entry };
    expect(positions.write(position, table, reader)).not.toBe(positions.write(position, table, reader));
  });

  it("is as long wherever the journal is", () => {
    const lengthAt = (number: number) => positions.write({ number, entry }, table, reader).length;
    expect([9, 10, 12_345, 9_007_199_254_740_991].map(lengthAt)).toEqual(Array(4).fill(lengthAt(0)));
  });

  it("of another table, another system, or changed, is none", () => {
    const text = positions.write({ number: 5, entry }, table, reader);
    expect(positions.read(text, { id: "other" })).toBeUndefined();
    expect(makePositions(randomBytes(32)).read(text, table)).toBeUndefined();
    expect(positions.read(`${text.slice(0, -3)}AAA`, table)).toBeUndefined();
    expect(positions.read("", table)).toBeUndefined();
  });
});
