// /healthz and /readyz of the gateway itself, for whoever operates it.
import { unavailable } from "@portico/shared/app-error";
import type { RequestHandler } from "express";
import type { AuthClient } from "../upstream/auth-client.js";

const RETRY_AFTER_SECONDS = 5;

/** The process runs. */
export const healthz: RequestHandler = (_request, response) => {
  response.json({ status: "ok" });
};

/**
 * It can serve: it is not stopping, and the data service is ready. Callers that ask at once share the question: anybody may
 * ask, and nothing else limits how often.
 * @param isStopping asked each time
 */
export function readyz(client: Pick<AuthClient, "isReady">, isStopping: () => boolean): RequestHandler {
  let asked: Promise<boolean> | undefined;
  const isReady = (): Promise<boolean> => {
    asked ??= client.isReady().finally(() => {
      asked = undefined;
    });
    return asked;
  };
  return async (_request, response) => {
    if (isStopping()) throw unavailable("The gateway is stopping.", RETRY_AFTER_SECONDS);
    if (!(await isReady())) throw unavailable("The data service is not ready.", RETRY_AFTER_SECONDS);
    response.json({ status: "ok" });
  };
}
