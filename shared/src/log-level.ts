// LOG_LEVEL and LOG_FORMAT: how much the services say, and how. Apart from the logger, so that reading the settings does not load it.
import type { EnvReader } from "./env.js";

const LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** Checks LOG_FORMAT as well, which the launcher follows: the services themselves always write JSON. */
export function readLogLevel(reader: EnvReader): string {
  reader.choice("LOG_FORMAT", "json", ["json"]);
  return reader.choice("LOG_LEVEL", "info", LEVELS);
}
