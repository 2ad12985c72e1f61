// BODY_MAX_BYTES and UPLOAD_MAX_BYTES: both services refuse what is larger.
import type { EnvReader } from "./env.js";

const MEBIBYTE = 1024 * 1024;

export interface BodyLimits {
  /** BODY_MAX_BYTES */
  readonly bodyMaxBytes: number;
  /** UPLOAD_MAX_BYTES: of one file. */
  readonly uploadMaxBytes: number;
}

export function readBodyLimits(reader: EnvReader): BodyLimits {
  return {
    bodyMaxBytes: reader.integer("BODY_MAX_BYTES", MEBIBYTE, { min: 1024, max: 16 * MEBIBYTE }),
    uploadMaxBytes: reader.integer("UPLOAD_MAX_BYTES", 50 * MEBIBYTE, { min: 1024, max: 2 ** 40 }),
  };
}
