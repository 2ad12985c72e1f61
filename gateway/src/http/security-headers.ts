// The security headers of every answer, errors included.
import type { RequestHandler } from "express";
import helmet from "helmet";

const YEAR_SECONDS = 31_536_000;

/** Framing, sniffing, referrer and isolation rules; HSTS only where the app lives on https. */
export function securityHeaders(appUrl: string): RequestHandler {
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
 * For a single-page app of the user's own: what it may load is its own business, framing it is not.
 * Its own `<meta>` policy can only narrow this further.
 */
export const APP_CONTENT_SECURITY_POLICY = "base-uri 'self'; frame-ancestors 'none'; object-src 'none'";
