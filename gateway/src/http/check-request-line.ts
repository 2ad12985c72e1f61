// The first handler of every request: refuses what request-line refuses, gives API paths their one spelling.
import { AppError } from "@portico/shared/app-error";
import { refuseOtherOverride } from "@portico/shared/method-override";
import type { Request, RequestHandler } from "express";
import { headerLines } from "./header-lines.js";
import { judgeRequestLine, type RequestLine } from "./request-line.js";

/**
 * After it `request.url` of an API call is rebuilt from checked parts, so that `/api/%6Detrics` and
 * `/api/metrics/` meet the same route as `/api/metrics`. Paths of pages stay as they are.
 */
export const checkRequestLine: RequestHandler = (request, _response, next) => {
  const verdict = judgeRequestLine(requestLineOf(request));
  if (verdict.kind === "refused") {
    throw new AppError(verdict.code, { message: verdict.message, headers: verdict.headers ?? {} });
  }
  refuseOtherOverride(request);
  const segments = isAsset(verdict.segments) ? ["api", ...verdict.segments] : verdict.segments;
  if (segments[0] === "api") {
    request.url = `/${segments.map(encodeURIComponent).join("/")}${verdict.query}`;
  }
  next();
};

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
