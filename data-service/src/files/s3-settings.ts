// S3_ENDPOINT, S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: all of them or none.
import type { EnvReader } from "@portico/shared/env";

export interface S3Settings {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const REQUIRED = ["S3_ENDPOINT", "S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"] as const;

/** Undefined when none is set; the region may be left out (`us-east-1`). */
export function readS3Settings(reader: EnvReader): S3Settings | undefined {
  const missing = REQUIRED.filter((name) => reader.optional(name) === undefined);
  if (missing.length === REQUIRED.length) return undefined;
  if (missing.length > 0) reader.problem(`${missing.join(", ")} must be set too, to keep files in a bucket.`);
  const bucket = reader.text("S3_BUCKET", "");
  if (bucket !== "" && !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    reader.problem(`S3_BUCKET must be the name of a bucket, not "${bucket}".`);
  return {
    endpoint:
      reader.optional("S3_ENDPOINT") === undefined
        ? ""
        : reader.origin("S3_ENDPOINT", "https://s3.amazonaws.com"),
    bucket,
    region: reader.text("S3_REGION", "us-east-1"),
    accessKeyId: reader.text("S3_ACCESS_KEY_ID", ""),
    secretAccessKey: reader.text("S3_SECRET_ACCESS_KEY", ""),
  };
}
