// JSON-line logs with the one list of secrets that never reach them.
import {
  type Bindings,
  type ChildLoggerOptions,
  type DestinationStream,
  destination,
  type LogFn,
  pino,
  stdTimeFunctions,
} from "pino";
import { loggedError } from "./logged-error.js";

/** What our code uses of pino's loggers. */
export interface Logger {
  readonly info: LogFn;
  readonly warn: LogFn;
  readonly error: LogFn;
  child(bindings: Bindings, options?: ChildLoggerOptions): Logger;
}

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

/** Of lines that can't be written, or are not read: enough for a short time without room, and no burden on the process. */
const WAITING_MAX_BYTES = 8 * 1024 * 1024;

/**
 * Makes a service's logger. Lines that can't be written, as on a full disk, wait; when there are too many, the next are lost.
 * @param service the name that stands in every line
 * @param level a pino level or `silent`
 */
export function makeLogger(service: string, level: string): Logger {
  const redact = {
    paths: [
      ...SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      ...SECRETS_OF_ADDRESSES,
    ],
    censor: "[redacted]",
  };
  return pino(
    {
      level,
      base: { service },
      timestamp: stdTimeFunctions.isoTime,
      messageKey: "message",
      serializers: { err: (error: unknown) => loggedError(error) },
      formatters: { level: (label) => ({ level: label }) },
      redact,
    },
    standardOutput(),
  );
}

/** What fails there ends no service, neither amid its work nor at its end. Each line tries again for those that wait. */
function standardOutput(): DestinationStream {
  const output = destination({ dest: 1, sync: false, maxLength: WAITING_MAX_BYTES });
  output.on("error", () => {});
  const flushAtExit = output.flushSync.bind(output);
  output.flushSync = () => {
    try {
      flushAtExit();
    } catch {
      // There is nowhere to say so.
    }
  };
  return output;
}

/**
 * A second logger that does not look for secrets, which is most of what a line costs: only for lines whose keys are all fixed
 * in our own code and none of them the name of a secret.
 */
export function withoutSecrets(logger: Logger): Logger {
  return logger.child({}, { redact: [] });
}

/** A logger with bindings of its own, which is made with its first line: a request rarely has one, and it costs some 5 µs. */
export class LaterChild implements Logger {
  readonly #parent: Logger;
  readonly #bindings: Bindings;
  #made: Logger | undefined;

  constructor(parent: Logger, bindings: Bindings) {
    this.#parent = parent;
    this.#bindings = bindings;
  }

  get info(): LogFn {
    return this.#child.info.bind(this.#child);
  }

  get warn(): LogFn {
    return this.#child.warn.bind(this.#child);
  }

  get error(): LogFn {
    return this.#child.error.bind(this.#child);
  }

  child(bindings: Bindings, options?: ChildLoggerOptions): Logger {
    return this.#child.child(bindings, options);
  }

  get #child(): Logger {
    this.#made ??= this.#parent.child(this.#bindings);
    return this.#made;
  }
}
