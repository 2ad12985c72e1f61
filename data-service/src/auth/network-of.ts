// Client address -> the network it counts for: an IPv4 address, or the /64 that one IPv6 customer gets.
import { isIP, isIPv6 } from "node:net";

const GROUPS_OF_64_BITS = 4;

/** One spelling per network: `::ffff:1.2.3.4` is `1.2.3.4`, `2001:db8:0:1::5` is `2001:db8:0:1::/64`. */
export function networkOf(address: string | null): string {
  if (address === null) return "unknown";
  const bare = address.replace(/%.*$/, "");
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(bare) === 0) return "unknown";
  if (!isIPv6(bare)) return bare;
  // WHATWG URLs write IPv6 in one way: lower case, no leading zeros, no dotted tail (RFC 5952).
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
