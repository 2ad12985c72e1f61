// An address -> the network that it counts for.
import { describe, expect, it } from "@jest/globals";
import { networkOf } from "./network-of.js";

describe("an address counts for", () => {
  it.each([
    ["itself, as IPv4", "203.0.113.7", "203.0.113.7"],
    ["itself, as IPv4 on a dual-stack socket", "::ffff:203.0.113.7", "203.0.113.7"],
    ["its /64, as IPv6", "2001:db8:0:1::5", "2001:db8:0:1::/64"],
    ["the same /64 in another spelling", "2001:0DB8:0000:0001:ffff:0:0:1", "2001:db8:0:1::/64"],
    ["its /64 though the zeros are at the end", "2001:db8::", "2001:db8:0:0::/64"],
    ["its /64 without the zone", "fe80::1%eth0", "fe80:0:0:0::/64"],
    ["loopback", "::1", "0:0:0:0::/64"],
    ["the unknown, without one", null, "unknown"],
    ["itself, with the port that a proxy adds", "203.0.113.7:51234", "203.0.113.7"],
    ["its /64, with the port that a proxy adds", "[2001:db8:0:1::5]:51234", "2001:db8:0:1::/64"],
    ["the unknown, when it is none", "_hidden", "unknown"],
  ])("%s", (_name, address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it("another network when another customer has it", () => {
    expect(networkOf("2001:db8:0:2::5")).not.toBe(networkOf("2001:db8:0:1::5"));
  });
});
