// What is read of the data service's answer to a login or a refresh.
import { describe, expect, it } from "@jest/globals";
import { readTokenPair } from "./token-pair.js";

const PAIR = { accessToken: "a", refreshToken: "r", expTime: 1, refreshExpTime: 2, loginProvider: null };

describe("readTokenPair", () => {
  it("takes the five keys and nothing else", () => {
    expect(readTokenPair({ statusCode: 200, message: "Success", ...PAIR })).toEqual(PAIR);
    const byProvider = { ...PAIR, loginProvider: "google" };
    expect(readTokenPair(byProvider)).toEqual(byProvider);
  });

  it.each<unknown>([
    undefined,
    null,
    "text",
    [],
    { ...PAIR, accessToken: undefined },
    { ...PAIR, accessToken: "" },
    { ...PAIR, refreshToken: { $ne: null } },
    { ...PAIR, refreshToken: "" },
    { ...PAIR, expTime: "1" },
    { ...PAIR, refreshExpTime: null },
    { ...PAIR, loginProvider: 5 },
  ])("refuses %j", (body) => {
    expect(readTokenPair(body)).toBeUndefined();
  });
});
