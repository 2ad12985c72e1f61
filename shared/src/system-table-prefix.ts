// SYSTEM_TABLE_PREFIX: what the names of Portico's own tables begin with.
import type { EnvReader } from "./env.js";

export function readSystemTablePrefix(reader: EnvReader): string {
  const prefix = reader.text("SYSTEM_TABLE_PREFIX", "svc_");
  if (!/^[a-z][a-z0-9_]{0,19}$/.test(prefix)) {
    reader.problem("SYSTEM_TABLE_PREFIX must be 1–20 of a–z, 0–9 and _, beginning with a letter.");
  }
  return prefix;
}
