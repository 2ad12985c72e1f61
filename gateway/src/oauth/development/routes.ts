// The development provider's pages. They lend anybody any identity, so they serve only this machine's own browser.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import { notFound } from "@portico/shared/http-context";
import { recordOf } from "@portico/shared/json";
import { PROVIDERS, type Provider } from "@portico/shared/oauth";
import { onlyMethods } from "@portico/shared/only-methods";
import express, { type Request, type RequestHandler, Router } from "express";
import { requirePage } from "../../http/page-rule.js";
import { isFromThisMachine } from "../../http/this-machine.js";
import type { DevelopmentCodes } from "./code.js";
import { DEVELOPMENT_STYLE, developmentPage } from "./page.js";

export interface DevelopmentDeps {
  readonly appUrl: string;
  /** The app's own origin and ALLOWED_ORIGINS: after the form the browser is sent on to one of these. */
  readonly pageOrigins: readonly string[];
  readonly clock: Clock;
  readonly codes: DevelopmentCodes;
}

const MAX_BYTES = 16 * 1024;
const FIELDS = ["redirect_uri", "state", "code_challenge"];

/** Mount it before the proxy, and only where `developmentProvider` is on. */
export function developmentRoutes(deps: DevelopmentDeps): Router {
  const router = Router({ caseSensitive: true });
  router.use("/api/auth/dev", onlyThisMachine(deps.appUrl));
  router.get("/api/auth/dev/style.css", (_request, response) => {
    response.type("css").send(DEVELOPMENT_STYLE);
  });
  for (const provider of PROVIDERS) {
    router
      .route(`/api/auth/dev/${provider}/authorize`)
      .get(showPage(deps, provider))
      .post(express.urlencoded({ extended: false, limit: MAX_BYTES }), takeAnswer(deps, provider))
      .all(onlyMethods("GET", "HEAD", "POST"));
  }
  router.use("/api/auth/dev", notFound);
  return router;
}

function onlyThisMachine(appUrl: string): RequestHandler {
  const { host } = new URL(appUrl);
  return (request, _response, next) => {
    if (isFromThisMachine(request, host)) return next();
    throw new AppError(
      "FORBIDDEN",
      "The development provider serves only browsers on its own machine, and nothing that comes by a proxy or a tunnel.",
    );
  };
}

function showPage({ pageOrigins }: DevelopmentDeps, provider: Provider): RequestHandler {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    // Browsers apply this to the redirects that follow the form as well.
    `form-action 'self' ${pageOrigins.map(asSource).join(" ")}`,
  ];
  return (request, response) => {
    const query = new URLSearchParams(request.url.split("?")[1] ?? "");
    const fields = Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""]));
    response
      .set({
        "Content-Security-Policy": policy.join("; "),
        // With `no-referrer`, as elsewhere, browsers would send the form with `Origin: null`.
        "Referrer-Policy": "same-origin",
      })
      .type("html")
      .send(developmentPage(provider, fields));
  };
}

/** A policy has no words for an IPv6 address, and browsers pass over what they can't read: the scheme stands for it. */
function asSource(origin: string): string {
  return origin.includes("[") ? new URL(origin).protocol : origin;
}

function takeAnswer({ appUrl, clock, codes }: DevelopmentDeps, provider: Provider): RequestHandler {
  return (request, response) => {
    requirePage(request, [appUrl], `this page is at ${appUrl} alone`);
    const form = formOf(request);
    // As with a real provider: exactly the registered address.
    const callback = `${appUrl}/api/auth/${provider}/callback`;
    if (form("redirect_uri") !== callback)
      throw new AppError("BAD_REQUEST", "redirect_uri: is not registered.");
    const person = { email: form("email"), name: form("name"), emailVerified: form("verified") === "on" };
    const answer: Record<string, string> =
      form("answer") === "allow"
        ? { code: codes.write(person, form("code_challenge"), clock.now()) }
        : { error: "access_denied" };
    const location = `${callback}?${new URLSearchParams({ ...answer, state: form("state") })}`;
    response.status(303).set("Location", location).end();
  };
}

function formOf(request: Request): (name: string) => string {
  const fields = recordOf(request.body);
  return (name) => {
    const value = fields[name];
    return typeof value === "string" ? value : "";
  };
}
