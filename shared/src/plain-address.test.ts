// One client has one spelling, however it is connected.
import { describe, expect, it } from "@jest/globals";
import { plainAddress } from "./plain-address.js";

describe("a client's address", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["203.0.113.7:51234", "203.0.113.7"],
    ["2001:db8::5", "2001:db8::5"],
    ["[2001:db8::5]", "2001:db8::5"],
    ["[2001:db8::5]:51234", "2001:db8::5"],
    ["[::ffff:203.0.113.7]:51234", "203.0.113.7"],
    ["unknown", undefined],
    ["_hidden", undefined],
    ["", undefined],
  ])("%s is %s", (text, address) => {
    expect(plainAddress(text)).toBe(address);
  });
});
