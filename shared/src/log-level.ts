// LOG_LEVEL: how much the services say. Apart from the logger, so that reading the settings does not load it.
import type { EnvReader } from "./env.js";

const LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

export function readLogLevel(reader: EnvReader): string {
  return reader.choice("LOG_LEVEL", "info", LEVELS);
}
