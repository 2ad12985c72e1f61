// How large bodies may be: both services refuse what is larger.
import type { EnvReader } from "./env.js";

const MEBIBYTE = 1024 * 1024;

/**
 * Of bodies with credentials, names and addresses, some of which are read before anybody has proved who they are: none needs
 * more. The gateway sends them on to the data service, so both have the same limit.
 */
export const SMALL_BODY_MAX_BYTES = 16 * 1024;

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
