// What a request says about the browser or program that made it.
import { setImmediate as nextTurn } from "node:timers/promises";
import { contextOf } from "@portico/shared/http-context";
import { ORIGIN_HEADER, PAGE_ORIGINS_HEADER, readPageOrigins } from "@portico/shared/session-page";
import { clientAddress } from "@portico/shared/trust-proxy";
import type { Request } from "express";
import { principalOf } from "../http/authenticate.js";
import { sessionOf } from "../principal.js";

/** Who asks, as sessions, refusals and the audit log need it. */
export interface ClientFacts {
  /** The web origin the session is for, or is to be for; null when no browser asked. */
  readonly origin: string | null;
  readonly userAgent: string | null;
  readonly address: string | null;
  /** The request's id, for the audit log. */
  readonly correlationId?: string;
  /** Those whose pages the gateway serves, where the call came by one. */
  readonly pageOrigins?: readonly string[];
  /** Whether an answer can still reach whoever asks: asked when that matters, as they may hang up at any time. */
  readonly isWaiting?: () => Promise<boolean>;
}

/** Shown to the user in the list of their sessions; nobody needs more of it. */
const USER_AGENT_MAX_CHARACTERS = 256;

export function clientFacts(request: Request): ClientFacts {
  const pages = request.get(PAGE_ORIGINS_HEADER);
  return {
    // For the gateway to say, which lets no client's header of this name through. Whoever reaches this service directly can send
    // one: it decides where a session of their own counts, that one alone (security row A25).
    origin: webOrigin(request.get(ORIGIN_HEADER)),
    userAgent: request.get("User-Agent")?.slice(0, USER_AGENT_MAX_CHARACTERS) || null,
    address: clientAddress(request) ?? null,
    correlationId: contextOf(request).correlationId,
    // A process that has stood still finds a request and its end at once, and may come to the end last.
    isWaiting: async () => {
      await nextTurn();
      return request.socket.writable;
    },
    // This, too, can only narrow what the caller's own session is good for; and it lets other pages end one whose page is gone.
    ...(pages === undefined ? {} : { pageOrigins: readPageOrigins(pages) }),
  };
}

/** What is recorded of a call by somebody signed in: the origin is that of the session. Use it behind `authenticate`. */
export function auditFacts(request: Request): ClientFacts {
  return { ...clientFacts(request), origin: sessionOf(principalOf(request))?.origin ?? null };
}

/** An http(s) origin in its canonical spelling; anything else counts as none. */
function webOrigin(text: string | undefined): string | null {
  if (text === undefined || text.length > 255 || !URL.canParse(text)) return null;
  const { origin, protocol } = new URL(text);
  return origin === text && (protocol === "http:" || protocol === "https:") ? origin : null;
}
