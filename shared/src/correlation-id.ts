// One id follows a request through both services, their logs and every error body.
import { randomUUID } from "node:crypto";
import { withoutTokens } from "./without-tokens.js";

/** The header that carries the id, in and out. */
export const CORRELATION_HEADER = "x-correlation-id";

const ACCEPTED = /^[\w.:-]{1,128}$/;

/** Takes the caller's id when it is 1–128 word characters, `-`, `.` or `:`, and no token; otherwise makes one. */
export function correlationId(presented: string | string[] | undefined): string {
  const isAccepted = typeof presented === "string" && ACCEPTED.test(presented);
  return isAccepted && withoutTokens(presented) === presented ? presented : randomUUID();
}
