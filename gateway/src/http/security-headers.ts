// The security headers of every answer, errors included.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { RequestHandler } from "express";
import helmet from "helmet";

const YEAR_SECONDS = 31_536_000;

/** Framing, sniffing, referrer and isolation rules; HSTS only where the app lives on https. */
export function securityHeaders(appUrl: string): RequestHandler {
  const headers = headersOf(rules(appUrl));
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}

type Helmet = ReturnType<typeof helmet>;

/** They are the same for every answer, so they are made once: running helmet's dozen handlers for each request is costly. */
function headersOf(handler: Helmet): readonly (readonly [name: string, value: string])[] {
  const headers: [string, string][] = [];
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  response.setHeader = (name, value) => {
    headers.push([name, String(value)]);
    return response;
  };
  handler(request, response, () => {});
  return headers;
}

function rules(appUrl: string): Helmet {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        "default-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
      },
    },
    crossOriginOpenerPolicy: { policy: "same-origin" },
    crossOriginResourcePolicy: { policy: "same-origin" },
    referrerPolicy: { policy: "no-referrer" },
    strictTransportSecurity: appUrl.startsWith("https:")
      ? { maxAge: YEAR_SECONDS, includeSubDomains: true }
      : false,
    xFrameOptions: { action: "deny" },
  });
}

/**
 * For the pages of a single-page app of the user's own: what it loads is its own business, but nobody may frame it. Its own
 * `<meta>` policy can only narrow this further. It may talk to the windows that it opens (payments, pickers), and says where
 * its requests come from as browsers do by themselves: with `no-referrer` its forms would be sent with `Origin: null`, and
 * maps or videos that are tied to a site would refuse it.
 */
export const APP_PAGE_HEADERS = {
  "Content-Security-Policy": "base-uri 'self'; frame-ancestors 'none'; object-src 'none'",
  "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
  "Referrer-Policy": "strict-origin-when-cross-origin",
};
