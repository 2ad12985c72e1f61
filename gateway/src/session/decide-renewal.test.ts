// Which requests refresh the session, and which borrow an access token.
import type { IncomingHttpHeaders } from "node:http";
import { expect, it } from "@jest/globals";
import type { RouteKind } from "../http/media-type.js";
import { decideRenewal, type Renewal } from "./decide-renewal.js";

const SERVED = "https://chat.example.com";

it.each<[RouteKind, IncomingHttpHeaders, Renewal]>([
  ["json", {}, "refresh"],
  ["json", { "content-length": "65536" }, "refresh"],
  ["json", { "content-length": "65537" }, "borrow"],
  ["json", { "transfer-encoding": "chunked" }, "borrow"],
  ["upload", { "content-length": "10" }, "borrow"],
  ["import", { "content-length": "10" }, "borrow"],
  ["json", { "sec-fetch-site": "same-origin" }, "refresh"],
  ["json", { "sec-fetch-site": "none" }, "refresh"],
  ["json", { "sec-fetch-site": "same-site" }, "borrow"],
  ["json", { "sec-fetch-site": "cross-site" }, "borrow"],
  ["json", { "sec-fetch-site": "same-origin, none" }, "borrow"],
  ["json", { "sec-fetch-site": "same-origin", "sec-purpose": "prefetch" }, "borrow"],
  ["json", { "sec-purpose": "prefetch;prerender" }, "borrow"],
  ["json", { purpose: "prefetch" }, "borrow"],
  ["json", { "x-moz": "prefetch" }, "borrow"],
  ["json", { "sec-fetch-site": "same-site", origin: SERVED }, "refresh"],
  ["json", { "sec-fetch-site": "same-site", origin: SERVED, "sec-purpose": "prefetch" }, "borrow"],
  ["json", { "sec-fetch-site": "same-site", origin: "https://evil.example.com" }, "borrow"],
  ["json", { "sec-fetch-site": "cross-site", origin: "null" }, "borrow"],
])("for a body of the kind %s with %j it is to %s", (body, headers, renewal) => {
  expect(decideRenewal(body, headers, [SERVED])).toBe(renewal);
});
