// The answer of both services below /auth where no route is: for a provider that is not set up, and for calls that have an
// address of their own elsewhere.
import type { RequestHandler } from "express";
import { AppError } from "./app-error.js";
import { contextOf } from "./http-context.js";

export const noSuchProvider: RequestHandler = (request) => {
  const { publicPath } = contextOf(request);
  throw new AppError(
    "NOT_FOUND",
    `There is nothing at ${publicPath}; GET /api/auth/providers names the providers that are set up. Users sign in by ` +
      "POST /api/login, and sign up by a POST to their table, where a rule lets them.",
  );
};
