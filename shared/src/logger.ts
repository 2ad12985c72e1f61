// JSON-line logs with the one list of secrets that never reach them.
import { type Logger, pino, stdTimeFunctions } from "pino";
import { loggedError } from "./logged-error.js";

export type { Logger } from "pino";

const SECRETS = [
  "authorization",
  "cookie",
  "set-cookie",
  "password",
  "currentPassword",
  "accessToken",
  "refreshToken",
  "token",
];

/** Secrets only here: elsewhere `code` names an error. */
const SECRETS_OF_ADDRESSES = ["code", "state", "query.code", "query.state"];

/**
 * Makes a service's logger.
 * @param service the name that stands in every line
 * @param level a pino level or `silent`
 */
export function makeLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: stdTimeFunctions.isoTime,
    messageKey: "message",
    serializers: { err: (error: unknown) => loggedError(error) },
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [
        ...SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
        ...SECRETS_OF_ADDRESSES,
      ],
      censor: "[redacted]",
    },
  });
}

/**
 * A second logger that does not look for secrets, which is most of what a line costs: only for lines whose keys are all fixed
 * in our own code and none of them the name of a secret.
 */
export function withoutSecrets(logger: Logger): Logger {
  return logger.child({}, { redact: [] });
}
