// What the embedded engine says when it can't run here: one sentence that ends with the alternatives.
import { ConfigError } from "@portico/shared/env";

const WAYS_OUT = ["set MONGODB_URL to a MongoDB server", "or run everything with `docker compose up`"];

/** The embedded engine can't run; this is a problem of the settings or the machine, so the start prints it as one line. */
export class EngineError extends ConfigError {
  /** Does another process have the folder open? */
  readonly isInUse: boolean;

  /**
   * @param reason what is wrong, without a full stop
   * @param more.remedy what helps in this particular case, named before the ways that always help
   */
  constructor(reason: string, more: { remedy?: string; cause?: unknown; isInUse?: boolean } = {}) {
    const remedies = more.remedy === undefined ? WAYS_OUT : [more.remedy, ...WAYS_OUT];
    super([`${reason}: ${remedies.join(", ")}.`]);
    this.name = "EngineError";
    this.isInUse = more.isInUse ?? false;
    if (more.cause !== undefined) this.cause = more.cause;
  }
}
