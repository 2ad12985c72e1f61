// Who a write is made for. Kept beside the call, not in its arguments: writes are made in many places, and only the
// journal wants to know.
import { AsyncLocalStorage } from "node:async_hooks";
import type { RequestHandler } from "express";
import { principalOf } from "../http/authenticate.js";
import type { Actor } from "./entry.js";

const actors = new AsyncLocalStorage<Actor>();

/** The service itself: demo content, repairs. */
const NOBODY: Actor = { userId: null };

/** Whoever asked for what is being done. */
export function currentActor(): Actor {
  return actors.getStore() ?? NOBODY;
}

/** Remembers the caller for everything the request does. Mount it behind `authenticate`. */
export const rememberActor: RequestHandler = (request, _response, next) => {
  const principal = principalOf(request);
  actors.run({ userId: principal.kind === "user" ? principal.userId : null }, next);
};
