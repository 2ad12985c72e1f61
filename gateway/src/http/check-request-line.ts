// The first handler of every request: refuses what request-line refuses, gives API paths their one spelling.
import { AppError } from "@portico/shared/app-error";
import { otherOverride } from "@portico/shared/method-override";
import { TOO_LARGE_HEAD } from "@portico/shared/refuse-malformed";
import { MOST_HEAD_BYTES } from "@portico/shared/server";
import type { Request, RequestHandler } from "express";
import { headerLines } from "./header-lines.js";
import { judgeRequestLine, type RequestLine, type RequestLineVerdict } from "./request-line.js";

/**
 * After it `request.url` of an API call is rebuilt from checked parts, so that `/api/%6Detrics` and
 * `/api/metrics/` meet the same route as `/api/metrics`. Paths of pages stay as they are.
 * @param forPages lets pages of ALLOWED_ORIGINS read why an API call was refused, and answers their preflights
 * @param opensApp whether the app of STATIC_DIR is what a request for an address inside it gets
 */
export function checkRequestLine(
  forPages: RequestHandler,
  opensApp: (request: Request) => boolean,
): RequestHandler {
  return (request, response, next) => {
    const verdict = judgeRequestLine(requestLineOf(request));
    if (verdict.kind === "refused" && verdict.about === "page" && opensApp(request)) {
      // Nothing else sees such a path: no file is looked for by it.
      request.url = "/";
      response.vary("Accept");
      return next();
    }
    const url = verdict.kind === "refused" ? request.url : spelledOut(verdict, request.url);
    const refusal =
      verdict.kind === "refused" ? refusalBy(verdict) : (otherOverride(request) ?? tooLong(request, url));
    if (refusal === undefined) {
      request.url = url;
      return next();
    }
    const isForPages = verdict.kind === "fine" || verdict.about === "target";
    if (!isForPages || !API.test(request.originalUrl)) return next(refusal);
    forPages(request, response, () => next(refusal));
  };
}

/** A call of the API, whatever the rest of its path is. */
const API = /^\/api(?:[/?]|$)/;

function refusalBy({
  code,
  message,
  headers = {},
}: Extract<RequestLineVerdict, { kind: "refused" }>): AppError {
  return new AppError(code, { message, headers });
}

/** Where its one spelling is longer than what the client wrote, the data service's limit may be exceeded although ours is not. */
function tooLong({ url, rawHeaders }: Request, spelled: string): AppError | undefined {
  if (spelled.length <= url.length) return undefined;
  const bytes = rawHeaders.reduce((sum, each) => sum + each.length, spelled.length);
  return bytes > MOST_HEAD_BYTES ? new AppError("BAD_REQUEST", TOO_LARGE_HEAD) : undefined;
}

/**
 * What a path may hold as it is (RFC 3986, section 3.3), and `encodeURIComponent` encodes; but for a semicolon, behind which
 * some proxies read something of their own.
 */
const PATH_CHARACTERS = /%(?:24|26|2B|2C|3A|3D|40)/g;

function spelledSegment(segment: string): string {
  return encodeURIComponent(segment).replace(PATH_CHARACTERS, decodeURIComponent);
}

function spelledOut({ segments, query }: Extract<RequestLineVerdict, { kind: "fine" }>, url: string): string {
  const called = isAsset(segments) ? ["api", ...segments] : segments;
  return called[0] === "api" ? `/${called.map(spelledSegment).join("/")}${query}` : url;
}

/**
 * `/assets/{id}` is `/api/assets/{id}` (contract, section 9). Other names below `/assets/` belong to a single-page app:
 * build tools put their scripts there.
 */
function isAsset([first, id, ...rest]: readonly string[]): boolean {
  return first === "assets" && id !== undefined && rest.length === 0 && /^[0-9a-f]{24}$/i.test(id);
}

function requestLineOf(request: Request): RequestLine {
  const { method, httpVersion } = request;
  return {
    method,
    httpVersion,
    target: request.originalUrl,
    host: headerLines(request, "host"),
    transferEncoding: headerLines(request, "transfer-encoding"),
    upgrade: headerLines(request, "upgrade"),
  };
}
