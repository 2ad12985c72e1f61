// The method of a request -> its handler; some tables have their own.

import { isSafe } from "@portico/shared/methods";
import { methodNotAllowed } from "@portico/shared/only-methods";
import type { Request, RequestHandler, Response } from "express";
import type { remove } from "../records/delete/remove.js";
import type { WriteGate } from "../schema/write-gate.js";

export type Handler = (request: Request, response: Response) => Promise<void>;
/** Handlers by method. */
export type Methods = Readonly<Record<string, Handler>>;

/** Handlers by table and method that differ from the common ones. */
export interface OwnHandlers {
  readonly collection: Readonly<Record<string, Partial<Record<string, Handler | null>>>>;
  readonly member: Readonly<Record<string, Partial<Record<string, Handler | null>>>>;
  /** What a request deletes a record with, one by one or by a filter. */
  readonly remove?: Readonly<Record<string, (request: Request) => typeof remove>>;
}

/** @param own by table: they replace the common ones for the methods they name, and null takes a method away */
export function dispatch(
  gate: Pick<WriteGate, "hold">,
  common: Methods,
  own: OwnHandlers["collection"],
): RequestHandler {
  const everyones = methodsOf(common);
  const special = new Map(
    Object.entries(own).map(([table, methods]) => [table, methodsOf({ ...common, ...methods })]),
  );
  return async (request, response) => {
    const methods = special.get(String(request.params.table)) ?? everyones;
    const method = request.method === "HEAD" ? "GET" : request.method;
    const handler = methods.get(method);
    // A stop also waits for what follows a write, such as its entry in the audit log.
    if (handler)
      return isSafe(method) ? handler(request, response) : gate.hold(() => handler(request, response));
    const allowed = [...methods.keys(), "HEAD", "OPTIONS"];
    if (method !== "OPTIONS") throw methodNotAllowed(request.method, allowed);
    if (methods.has("QUERY")) response.set("Accept-Query", "application/json");
    response.status(204).set("Allow", allowed.join(", ")).end();
  };
}

function methodsOf(handlers: OwnHandlers["collection"][string]): ReadonlyMap<string, Handler> {
  return new Map(
    Object.entries(handlers).flatMap(([method, handler]): [string, Handler][] =>
      handler ? [[method, handler]] : [],
    ),
  );
}
