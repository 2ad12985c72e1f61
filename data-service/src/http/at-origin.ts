// `Cache-Control` of a request is for caches on its way. Express gives it a say here too: with `no-cache`, which Node's own `fetch`
// adds to a request with If-None-Match, nobody would ever be told that what they have is still current.
import type { RequestHandler } from "express";

/** Mount it before whatever asks whether a client's copy is fresh. */
export const atOrigin: RequestHandler = ({ headers }, _response, next) => {
  if (headers["cache-control"] !== undefined) headers["cache-control"] = "";
  next();
};
