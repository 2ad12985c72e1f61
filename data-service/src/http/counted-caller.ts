// By whom requests that last are counted: the user, wherever they are, or the network of one who has not signed in.
import { networkOf } from "@portico/shared/network-of";
import type { Request } from "express";
import { principalOf } from "./authenticate.js";

export function countedCaller(request: Request): string {
  const principal = principalOf(request);
  return principal.kind === "user" ? principal.userId : networkOf(request.ip ?? null);
}
