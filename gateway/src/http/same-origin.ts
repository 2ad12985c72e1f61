// The CSRF rule: does a request come from the right page? Pure (contract, section 3.3).
import { pageRefused } from "@portico/shared/session-page";

/** What a browser says about the page a request comes from. A header that comes twice reads as one wrong value. */
export interface PageFacts {
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
}

export type PageVerdict =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly message: string };

const ACCEPTED: PageVerdict = { kind: "accepted" };

/**
 * With neither header, the request came from no current browser: accepted.
 * @param origins the origins the request may come from
 * @param reason why only these are allowed
 */
export function judgePage(
  facts: PageFacts,
  origins: readonly string[],
  reason = expectedOrigin(origins, facts.origin),
): PageVerdict {
  const { secFetchSite, origin } = facts;
  if (!isOwnPage(secFetchSite)) {
    return { kind: "refused", message: `Requests from a ${secFetchSite} page are refused here; ${DIRECT}.` };
  }
  if (origin !== undefined && !origins.includes(origin)) {
    return {
      kind: "refused",
      message: pageRefused(origin, origin === "null" ? `${reason}; ${UNNAMED}` : reason),
    };
  }
  return ACCEPTED;
}

/** Whether no page of another origin began the request, as far as the browser says. @param secFetchSite undefined accepts */
export function isOwnPage(secFetchSite: unknown): boolean {
  return secFetchSite === undefined || secFetchSite === "same-origin" || secFetchSite === "none";
}

/** A page that asks the gateway at another origin than its own: no setting lets it, as its cookies are not the gateway's. */
const DIRECT =
  "let the page's own server proxy the API, or sign in by /api/auth/login and send a Bearer token";

/** Forms alone: a script's `fetch` names the page's origin all the same. */
const UNNAMED =
  "a form says null where its page has Referrer-Policy: no-referrer, so let the page have same-origin instead";

/**
 * What would be right instead of an origin that is not among the allowed ones. The same machine under another name than
 * APP_URL's looks like a page that its own server proxies.
 */
export function expectedOrigin(origins: readonly string[], origin: string | undefined): string {
  const right = `expected ${origins.join(" or ")}`;
  if (!origin || origin === "null") return right;
  return `${right}; open that address instead, or set APP_URL where ${origin} is Portico's own; if it is an app's that proxies the API, add it to ALLOWED_ORIGINS`;
}
