// The calls that only the gateway may make, on a separate router that the proxy can not reach.
import { AppError } from "@portico/shared/app-error";
import { SMALL_BODY_MAX_BYTES } from "@portico/shared/body-limits";
import { notFound } from "@portico/shared/http-context";
import {
  INTERNAL_PATHS,
  type LendAccessTokenAnswer,
  readLendAccessToken,
  readRedeem,
  readSignIn,
  readStartFlow,
  readTakeFlow,
} from "@portico/shared/internal-api";
import type { Logger } from "@portico/shared/logger";
import { type Request, Router } from "express";
import { clientFacts } from "../auth/client-facts.js";
import { type LendAccessTokenDeps, lendAccessToken } from "../auth/lend-access-token.js";
import { bodyOf, jsonBody } from "../http/json-body.js";
import { logOf } from "../http/logging-for.js";
import { type RequireAssertionDeps, requireAssertion } from "../http/require-assertion.js";
import { type FlowDeps, startFlow, takeFlow } from "./flows.js";
import { type RedeemDeps, redeem } from "./redeem.js";
import { type SignInDeps, signIn } from "./sign-in.js";

export type InternalRoutesDeps = FlowDeps &
  SignInDeps &
  RedeemDeps &
  LendAccessTokenDeps &
  RequireAssertionDeps & { readonly logger: Logger };

export function internalRoutes(deps: InternalRoutesDeps): Router {
  const router = Router({ caseSensitive: true });
  router.use("/internal", requireAssertion(deps), ...jsonBody(SMALL_BODY_MAX_BYTES));

  router.post(INTERNAL_PATHS.startFlow, async (request, response) => {
    await startFlow(deps, read(request, readStartFlow), request.ip ?? null);
    response.json({});
  });
  router.post(INTERNAL_PATHS.takeFlow, async (request, response) => {
    response.json({ flow: (await takeFlow(deps, read(request, readTakeFlow))) ?? null });
  });
  router.post(INTERNAL_PATHS.signIn, async (request, response) => {
    response.json(await signIn(deps, read(request, readSignIn), clientFacts(request)));
  });
  router.post(INTERNAL_PATHS.redeem, async (request, response) => {
    response.json(await redeem(deps, read(request, readRedeem), clientFacts(request)));
  });
  router.post(INTERNAL_PATHS.lendAccessToken, async (request, response) => {
    const { refreshToken } = read(request, readLendAccessToken);
    const lent = await lendAccessToken(deps, refreshToken, clientFacts(request), logOf(request, deps));
    response.json({ accessToken: lent ?? null } satisfies LendAccessTokenAnswer);
  });
  router.use("/internal", notFound);
  return router;
}

/** Both services have the same version; anything else is our own mistake. */
function read<Body>(request: Request, reader: (body: unknown) => Body | undefined): Body {
  const body = reader(bodyOf(request));
  if (body === undefined)
    throw new AppError("BAD_REQUEST", "This is not what the gateway of this version sends.");
  return body;
}
