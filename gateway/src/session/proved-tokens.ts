// Whose a request is, before anybody has looked at its tokens: the gateway can't tell good ones, but it hears the data service's
// answers.
import { bearerToken } from "@portico/shared/bearer-token";
import type { ProvedClients } from "@portico/shared/proved-clients";
import type { Request } from "express";
import { sessionCookiesOf } from "../cookies/request-cookies.js";
import { readAccessClaims } from "./access-claims.js";

/** An answer of the data service, and what it was asked with. */
interface Answered {
  readonly method: string;
  readonly authorization: string | undefined;
  readonly statusCode: number | undefined;
}

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

/** The data service refuses a bad token on every route, unless it is only asked which methods that has. */
export function noteProof(
  clients: ProvedClients,
  { method, authorization, statusCode = 500 }: Answered,
): void {
  if (authorization === undefined || statusCode >= 400 || method === "OPTIONS") return;
  const token = bearerToken(authorization);
  if (token !== undefined) clients.prove(token, userOf(token) ?? token);
}

/** A session has many access tokens, and a user many sessions. Only a JWT has dots. */
function userOf(token: string): string | undefined {
  return token.includes(".") ? readAccessClaims(token)?.userId : undefined;
}
