// The running service that a script asks: where it is, and that it is Portico which answers there.
import { SetupError } from "./run-script.mjs";

/**
 * With or without a slash at its end, as Portico takes it.
 * @param {string} [named] in place of APP_URL
 */
export function serviceUrl(named) {
  const { APP_URL, PORT } = process.env;
  const url = (named || APP_URL || `http://localhost:${PORT || 3000}`).replace(/\/$/, "");
  if (/^https?:\/\//i.test(url)) return url;
  throw new SetupError(`"${url}" is no address of a service: it must begin with http:// or https://.`);
}

/**
 * Whatever stands at an address may answer, with any status: a proxy, or an app that has a page for every path.
 * @param {string} address
 * @param {number} status
 * @param {string} text what it answered
 */
export function notPortico(address, status, text) {
  const begin = text.slice(0, 200).replace(/\s+/g, " ").trim();
  return new SetupError(`${address} answered ${status}, and not as Portico does: ${begin}`);
}
