// A client's address as the server or a proxy writes it -> its one spelling.
import { isIP, isIPv4 } from "node:net";

/**
 * One client must have one spelling: a dual-stack socket shows IPv4 clients as `::ffff:1.2.3.4`, and some proxies add the
 * port, which is another one with every connection.
 */
export function plainAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const [, bracketed = text] = /^\[(.*)\](?::\d+)?$/.exec(text) ?? [];
  const address = bracketed.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1").replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(address) === 0 ? undefined : address;
}
