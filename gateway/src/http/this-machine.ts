// Does a request come from this machine itself? For pages that only a developer on it may see.
import type { Request } from "express";
import { isLoopback } from "../secure-address.js";

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;
/** No browser sends these. */
const BY_A_PROXY = /^(?:x-forwarded-.+|forwarded|via|x-real-ip|cf-connecting-ip|true-client-ip)$/;

/**
 * Judged by the connection; by the name in the address, since a page elsewhere can point a name of its own at 127.0.0.1; and
 * by the headers that proxies add, since a tunnel on this machine lets in the whole internet under any name.
 * @param host the only host name allowed; any name of this machine when undefined
 */
export function isFromThisMachine({ headers, socket }: Request, host?: string): boolean {
  const isDirect = !Object.keys(headers).some((name) => BY_A_PROXY.test(name));
  const isMeant = host === undefined ? isOwnName(headers.host ?? "") : headers.host === host;
  return isDirect && isMeant && LOOPBACK.test(socket.remoteAddress ?? "");
}

function isOwnName(host: string): boolean {
  const address = `http://${host}`;
  return URL.canParse(address) && isLoopback(address);
}
