// POST /{table}/import: a file as the body, read as it arrives.
import { AppError } from "@portico/shared/app-error";
import { discardBody } from "@portico/shared/discard-body";
import { announcesTooMuch } from "@portico/shared/has-body";
import { LINGER_MS } from "@portico/shared/linger";
import { onlyMethods } from "@portico/shared/only-methods";
import { requireUncompressed } from "@portico/shared/require-uncompressed";
import { withoutBodyDeadline } from "@portico/shared/server";
import { utf8Type } from "@portico/shared/utf8-type";
import { type Request, type Response, Router } from "express";
import { countedAs } from "../counted-as.js";
import { callerOf, principalOf } from "../http/authenticate.js";
import { loggingFor } from "../http/logging-for.js";
import { searchOf } from "../http/request-parts.js";
import { respond } from "../http/respond.js";
import { readCall } from "../query/parameters.js";
import { refuse } from "../query/refuse.js";
import type { RecordDeps } from "../records/record-deps.js";
import { refuseOnceKey } from "../records/write/once.js";
import { type ImportRequest, importRecords } from "./import-records.js";
import { ImportsUnderWay } from "./imports-under-way.js";

/** A client that sends nothing for this long while we wait for it has gone. */
const SILENCE_MS = 60_000;

const FORMATS: ReadonlyMap<string, ImportRequest["format"]> = new Map([
  ["text/csv", "csv"],
  ["application/x-ndjson", "ndjson"],
]);

export interface ImportLimits {
  /** IMPORT_MAX_BYTES */
  readonly importMaxBytes: number;
  /** BODY_MAX_BYTES: how large one record may be. */
  readonly bodyMaxBytes: number;
}

export function importRoutes(deps: RecordDeps, limits: ImportLimits): Router {
  const router = Router({ caseSensitive: true });
  const underWay = new ImportsUnderWay();
  router
    .route("/:table/import")
    .post((request, response) =>
      underWay.run(countedAs(principalOf(request)), () =>
        answerImport(loggingFor(deps, request), limits, request, response),
      ),
    )
    .all(onlyMethods("POST"));
  return router;
}

async function answerImport(
  deps: RecordDeps,
  limits: ImportLimits,
  request: Request,
  response: Response,
): Promise<void> {
  const table = String(request.params.table);
  const format = formatOf(request);
  refuseOnceKey(request.get("Idempotency-Key"));
  const options = optionsOf(searchOf(request));
  if (announcesTooMuch(request.headers, limits.importMaxBytes)) throw tooLarge(limits.importMaxBytes);
  withoutBodyDeadline(request);
  const source = bytesOf(request, limits.importMaxBytes);
  const asked = { caller: callerOf(request), table, format, source, ...options };
  try {
    const result = await importRecords(deps, { ...asked, maxRowBytes: limits.bodyMaxBytes });
    respond(response, 200, [{ ...result }]);
  } catch (error) {
    // A client that is still sending should get to read why its file is refused; its body no longer has a deadline of its
    // own.
    discardBody(request, response, LINGER_MS);
    if (!response.destroyed) throw error;
    const details = error instanceof AppError ? error.details : undefined;
    deps.logger.warn({ table, ...details }, "the client of an import went away");
  }
}

/** @throws AppError 415 */
function formatOf(request: Request): ImportRequest["format"] {
  requireUncompressed(request.headers);
  const format = FORMATS.get(utf8Type(request.headers["content-type"]) ?? "");
  if (format !== undefined) return format;
  throw new AppError(
    "UNSUPPORTED_MEDIA_TYPE",
    "Send the file as text/csv or application/x-ndjson, in UTF-8.",
  );
}

/** @throws AppError 400 for parameters of other calls, and for values that make no sense */
function optionsOf(search: string): Pick<ImportRequest, "dryRun" | "from"> {
  const { isOn, textOf } = readCall(search, [], ["dryRun", "from"]);
  const from = textOf("from") ?? "1";
  if (!/^[1-9]\d{0,14}$/.test(from)) throw refuse("from", "must be the number of a line, from 1");
  return { dryRun: isOn("dryRun"), from: Number(from) };
}

/** The body as it arrives. The request itself is left alone, so that it can still be answered. */
async function* bytesOf(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  const chunks = request.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const silence = setTimeout(() => request.destroy(), SILENCE_MS);
      const { value, done } = await chunks.next().finally(() => clearTimeout(silence));
      if (done && request.complete) return;
      if (done) throw new Error("the body of an import was cut off");
      const chunk: Buffer = value;
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  } finally {
    // An iterator that is not closed would keep holding the body back.
    await chunks.return?.();
  }
}

function tooLarge(maxBytes: number): AppError {
  return new AppError("PAYLOAD_TOO_LARGE", `The file is larger than ${maxBytes} bytes.`);
}
