// Builds what stores the bytes of files: in GridFS, or in an S3 bucket if one is configured; what is in GridFS then stays there.
import { systemClock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { systemTableNames } from "../catalog/system-tables.js";
import { type Config, isEmbedded } from "../config.js";
import { Contents } from "../files/contents.js";
import type { FileDeps } from "../files/deps.js";
import { withRecent } from "../files/recent-contents.js";
import { makeS3Content } from "../files/s3-content.js";
import { withFormer } from "../files/two-stores.js";
import type { Store } from "../mongo/connect.js";
import { makeContentLedger } from "../mongo/content-ledger.js";
import { makeDiskSpace } from "../mongo/disk-space.js";
import { makeGridFsContent } from "../mongo/gridfs-content.js";
import type { RequireSpace } from "../space-check.js";

export type FileParts = Pick<FileDeps, "contents" | "ledger" | "fileTables">;

export function makeFileParts(
  config: Config,
  store: Store,
  logger: Logger,
  requireSpace: RequireSpace | undefined,
): FileParts {
  const { s3, systemTablePrefix, uploadLeaseSeconds } = config;
  const { files, folders } = systemTableNames(systemTablePrefix);
  const fileTables = { files, folders };
  const ledger = makeContentLedger(store.db, fileTables.files);
  const space = requireSpace && makeDiskSpace(store.db, requireSpace);
  const inDatabase = makeGridFsContent(store.db, isEmbedded(config), space);
  const content = withRecent(s3 === undefined ? inDatabase : withFormer(makeS3Content(s3), inDatabase));
  const leaseMs = uploadLeaseSeconds * 1_000;
  const contents = new Contents({ ledger, store: content, clock: systemClock, logger, leaseMs });
  return { contents, ledger, fileTables };
}
