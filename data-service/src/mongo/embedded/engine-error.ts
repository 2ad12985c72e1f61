// What the embedded engine says when it can't run here: one sentence that ends with the ways out.
import { ConfigError } from "@portico/shared/env";

const WAYS_OUT = "set MONGODB_URL to a MongoDB server, or run everything with `docker compose up`";

/** The embedded engine can't run; a problem of the settings or the machine, so the start prints it as one line. */
export class EngineError extends ConfigError {
  /** @param reason a clause without a full stop; the ways out are added */
  constructor(reason: string, options?: { cause: unknown }) {
    super([`${reason}; ${WAYS_OUT}.`]);
    this.name = "EngineError";
    if (options !== undefined) this.cause = options.cause;
  }
}
