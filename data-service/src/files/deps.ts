// What the use cases of files may touch.
import type { ContentLedger } from "../mongo/content-ledger.js";
import type { RecordDeps } from "../records/record-deps.js";
import type { Contents } from "./contents.js";

export interface FileDeps extends RecordDeps {
  readonly contents: Contents;
  readonly ledger: ContentLedger;
  /** UPLOAD_MAX_BYTES */
  readonly uploadMaxBytes: number;
  /** Names of the tables. */
  readonly fileTables: { readonly files: string; readonly folders: string };
}
