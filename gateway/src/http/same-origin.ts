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
  reason = `expected ${origins.join(" or ")}${remedyFor(facts)}`,
): PageVerdict {
  const { secFetchSite, origin } = facts;
  if (secFetchSite !== undefined && secFetchSite !== "same-origin" && secFetchSite !== "none") {
    return { kind: "refused", message: `Requests from a ${secFetchSite} page are refused here; ${DIRECT}.` };
  }
  if (origin !== undefined && !origins.includes(origin)) {
    return {
      kind: "refused",
      message: pageRefused(origin, reason),
    };
  }
  return ACCEPTED;
}

/** A page that asks the gateway at another origin than its own: no setting lets it, as its cookies are not the gateway's. */
const DIRECT =
  "let the page's own server proxy the API, or sign in by /api/auth/login and send a Bearer token";

/** What to do about a page that its own server proxies, as the browser says by `same-origin`. */
function remedyFor({ secFetchSite, origin }: PageFacts): string {
  const isProxied = secFetchSite === "same-origin" && origin !== undefined && origin !== "null";
  return isProxied ? `; if ${origin} is yours and proxies the API, add it to ALLOWED_ORIGINS` : "";
}
