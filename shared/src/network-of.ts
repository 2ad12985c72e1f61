// Client address -> the network it counts for: an IPv4 address, or the /64 that one IPv6 customer gets.
import { isIPv4 } from "node:net";
import { plainAddress } from "./plain-address.js";

const GROUPS_OF_64_BITS = 4;

/** One spelling per network: `::ffff:1.2.3.4` is `1.2.3.4`, `2001:db8:0:1::5` is `2001:db8:0:1::/64`. */
export function networkOf(address: string | null): string {
  const plain = address === null ? undefined : plainAddress(address);
  if (plain === undefined) return "unknown";
  if (isIPv4(plain)) return plain;
  const bare = plain.replace(/%.*$/, "");
  // A WHATWG URL has one spelling of IPv6: lower case, no leading zeros, no dotted tail (RFC 5952).
  const canonical = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  return `${groupsOf(canonical).slice(0, GROUPS_OF_64_BITS).join(":")}::/64`;
}

/** The eight groups, `::` written out. */
function groupsOf(canonical: string): string[] {
  const [head = "", tail] = canonical.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return tail === undefined ? left : [...left, ...zeros, ...right];
}
