// Lets a call in only if the gateway has signed for exactly this call; a user's token is not enough.
import { AppError } from "@portico/shared/app-error";
import type { Assertions } from "@portico/shared/assertion";
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { withoutTokens } from "@portico/shared/without-tokens";
import type { RequestHandler } from "express";

const BEARER = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/;

export interface RequireAssertionDeps {
  readonly assertions: Pick<Assertions, "verify">;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/** @throws AppError UNAUTHORIZED for every request without a good assertion, whatever its path */
export function requireAssertion({ assertions, clock, logger }: RequireAssertionDeps): RequestHandler {
  return async (request, _response, next) => {
    const presented = request.headersDistinct.authorization ?? [];
    const assertion = presented.length === 1 ? BEARER.exec(presented[0] ?? "")?.[1] : undefined;
    const call = { method: request.method, path: request.originalUrl };
    const isGood = assertion !== undefined && (await assertions.verify(assertion, call, clock.now()));
    if (!isGood) {
      // No client comes here by mistake, and the answer reveals nothing: without this line nobody would know why.
      if (assertion !== undefined)
        logger.warn(
          { method: request.method, path: withoutTokens(request.path) },
          "refused an internal call: SERVICE_SECRET or the clocks of the two services differ",
        );
      throw new AppError("UNAUTHORIZED", "Only the gateway may call this.");
    }
    next();
  };
}
