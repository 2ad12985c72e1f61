// Whose a request is, before anybody has looked at its tokens: the gateway can't tell good ones, but the data service's answers
// say whose those were.
import type { IncomingMessage } from "node:http";
import { bearerToken } from "@portico/shared/bearer-token";
import { CLIENT_HEADER, type ProvedClients } from "@portico/shared/proved-clients";
import type { Request } from "express";
import { sessionCookiesOf } from "../cookies/request-cookies.js";

/** Needs `findSessionCookies` before it. */
export function clientOf(clients: ProvedClients, request: Request): string {
  return clients.clientOf(presentedBy(request), request.ip);
}

/** The access token. That a refresh token beside it is good no answer says. */
function presentedBy(request: Request): string | undefined {
  const { authorization } = request.headers;
  if (authorization !== undefined) return bearerToken(authorization);
  const cookies = sessionCookiesOf(request);
  return cookies.kind === "present" ? cookies.accessToken : undefined;
}

/**
 * To be told of each answer of the data service.
 * @param authorization what it was asked with
 */
export function noteProof(
  clients: ProvedClients,
  authorization: string | undefined,
  answer: Pick<IncomingMessage, "headers">,
): void {
  const client = answer.headers[CLIENT_HEADER];
  const token = bearerToken(authorization ?? "");
  if (token !== undefined && typeof client === "string") clients.prove(token, client);
}
