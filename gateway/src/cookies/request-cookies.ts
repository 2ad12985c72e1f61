// Finds the session cookies of each request. A browser sends the same header again and again, so it is read once.
import { beside } from "@portico/shared/beside";
import cookieParser from "cookie-parser";
import type { Request, RequestHandler } from "express";
import { LRUCache } from "lru-cache";
import { readSessionCookies, type SessionCookies } from "./session-cookies.js";

/** How many headers are remembered, and their total length. */
const MOST = { headers: 1_000, characters: 1024 * 1024 };

const NONE: SessionCookies = { kind: "none" };

const found = beside<Request, SessionCookies>();

/** The session cookies of a request that has passed `findSessionCookies`. */
export function sessionCookiesOf(request: Request): SessionCookies {
  return found.get(request) ?? NONE;
}

/** Reads the Cookie header: from memory, or else with cookie-parser. */
export function findSessionCookies(): RequestHandler {
  const parse = cookieParser();
  const known = new LRUCache<string, SessionCookies>({
    max: MOST.headers,
    maxSize: MOST.characters,
    sizeCalculation: (_cookies, header) => header.length,
  });
  return (request, response, next) => {
    const { cookie: header = "" } = request.headers;
    if (header === "") return next();
    const before = known.get(header);
    if (before !== undefined) {
      found.set(request, before);
      return next();
    }
    parse(request, response, (error) => {
      if (error !== undefined) return next(error);
      const cookies = readSessionCookies(header, request.cookies);
      known.set(header, cookies);
      found.set(request, cookies);
      next();
    });
  };
}
