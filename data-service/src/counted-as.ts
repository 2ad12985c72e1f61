// By whom work is counted of which nobody may have too much.
import { networkOf } from "@portico/shared/network-of";
import type { Principal } from "./principal.js";

/** The user, wherever they are, or the network of one who has not signed in. */
export function countedAs(principal: Principal): string {
  return principal.kind === "user" ? principal.userId : networkOf(principal.address ?? null);
}
