// Lets a call in only when the gateway has signed for exactly this one; a user's token is none.
import { AppError } from "@portico/shared/app-error";
import type { Assertions } from "@portico/shared/assertion";
import type { Clock } from "@portico/shared/clock";
import type { RequestHandler } from "express";

const BEARER = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/;

/** @throws AppError UNAUTHORIZED for every request without a good assertion, whatever its path */
export function requireAssertion(assertions: Pick<Assertions, "verify">, clock: Clock): RequestHandler {
  return async (request, _response, next) => {
    const presented = request.headersDistinct.authorization ?? [];
    const assertion = presented.length === 1 ? BEARER.exec(presented[0] ?? "")?.[1] : undefined;
    const call = { method: request.method, path: request.originalUrl };
    if (assertion === undefined || !(await assertions.verify(assertion, call, clock.now()))) {
      throw new AppError("UNAUTHORIZED", "Only the gateway may call this.");
    }
    next();
  };
}
