// Writes answers: records, or a list that may be far larger than memory, in the envelope or as a file.
import { success } from "@portico/shared/envelope";
import { contextOf } from "@portico/shared/http-context";
import type { Json, JsonObject } from "@portico/shared/json";
import type { Response } from "express";
import { drained } from "../drained.js";
import { etagOf, type Versioned } from "../records/version.js";
import { startingWith } from "../starting-with.js";
import { slowAnswers } from "./slow-answers.js";

/** Text is sent in pieces of about this many characters. */
const PIECE = 64 * 1024;
/** What is held of an answer that is read and sent bit by bit, about. */
const HELD_OF_STREAM = 2 * 1024 * 1024;
/** An answer of which more is left when it has been handed over may be slow to go. */
const LARGE = 1024 * 1024;
/**
 * How long after its request the head of a streamed answer waits: for more text than a little, as what is refused before any
 * text is there needs a head of its own, and for any text at all. The gateway waits for a second more.
 */
const HEAD_PATIENCE = { moreMs: 25_000, anyMs: 29_000 };

/** Answers with records that are all at hand. */
export function respond(response: Response, status: number, records?: readonly Json[]): void {
  response.status(status).json(success(status, records));
  const { writableLength } = response;
  if (writableLength > LARGE) slowAnswers.watch(response, () => writableLength);
}

/** Answers with one record and its ETag; a GET by a client that already has it is answered 304. */
export function respondWithRecord(response: Response, status: number, record: Versioned): void {
  response.set("ETag", etagOf(record));
  respond(response, status, [record.json]);
}

/** 201, with the record's address if there is just one. */
export function respondCreated(
  response: Response,
  table: string,
  { records, ids }: { readonly records: readonly Versioned[]; readonly ids: readonly string[] },
): void {
  const [record] = records;
  if (ids.length === 1) response.location(`/api/${table}/${encodeURIComponent(String(ids[0]))}`);
  if (ids.length === 1 && record !== undefined) respondWithRecord(response, 201, record);
  else
    respond(
      response,
      201,
      records.map(({ json }) => json),
    );
}

/**
 * Answers with records as they arrive, in the envelope.
 * @param bytesHeld how many bytes of records are held until the last of them is sent
 */
export async function respondWithList(
  response: Response,
  records: AsyncIterable<readonly Json[]>,
  meta: JsonObject | undefined,
  bytesHeld?: () => number,
): Promise<void> {
  response.type("application/json");
  await respondWithText(response, listText(records, meta), bytesHeld);
}

function listText(
  records: AsyncIterable<readonly Json[]>,
  meta: JsonObject | undefined,
): AsyncGenerator<string> {
  return startingWith('{"statusCode":200,"message":"Success","data":[', listBody(records, meta));
}

async function* listBody(
  records: AsyncIterable<readonly Json[]>,
  meta: JsonObject | undefined,
): AsyncGenerator<string> {
  let separator = "";
  for await (const some of records) {
    let text = "";
    for (const record of some) {
      text += separator + JSON.stringify(record);
      separator = ",";
      if (text.length < PIECE) continue;
      yield text;
      text = "";
    }
    if (text !== "") yield text;
  }
  yield meta === undefined ? "]}" : `],"meta":${JSON.stringify(meta)}}`;
}

/**
 * Answers with a file to be saved, sent as its text is made.
 * @param file its name and its content type
 * @param bytesHeld as of a list
 */
export async function respondWithFile(
  response: Response,
  file: { readonly name: string; readonly type: string },
  text: AsyncIterable<string>,
  bytesHeld?: () => number,
): Promise<void> {
  // The name first: `attachment` guesses a content type from its extension.
  response.attachment(file.name).set("Content-Type", file.type);
  await respondWithText(response, text, bytesHeld).catch((error: unknown) => {
    // A refusal is sent instead of the file, so it is not one.
    if (!response.headersSent)
      for (const name of ["Content-Disposition", "Content-Type"]) response.removeHeader(name);
    throw error;
  });
}

/**
 * Sends text as it comes, no faster than the client reads. Nothing is sent before a fair amount is there, so that a query
 * that fails at once still gets its error body; one that fails later breaks the connection. Where little is found in a long
 * time, the head goes first.
 * @param text nothing of it is there before the first records are, whose query may be refused
 */
export async function respondWithText(
  response: Response,
  text: AsyncIterable<string>,
  bytesHeld?: () => number,
  patience = HEAD_PATIENCE,
): Promise<void> {
  response.status(200);
  await sendText(response, sendingHead(response, text, patience), bytesHeld);
}

async function* sendingHead(
  response: Response,
  text: AsyncIterable<string>,
  { moreMs, anyMs }: typeof HEAD_PATIENCE,
): AsyncGenerator<string> {
  const { began } = contextOf(response.req);
  const sendHeadAfter = (ms: number): NodeJS.Timeout =>
    setTimeout(
      () => response.headersSent || response.flushHeaders(),
      Math.max(0, began + ms - performance.now()),
    );
  const latest = sendHeadAfter(anyMs);
  let late: NodeJS.Timeout | undefined;
  try {
    for await (const each of text) {
      late ??= sendHeadAfter(moreMs);
      yield each;
    }
  } finally {
    clearTimeout(latest);
    clearTimeout(late);
  }
}

async function sendText(
  response: Response,
  text: AsyncIterable<string>,
  bytesHeld: (() => number) | undefined,
): Promise<void> {
  let pending = "";
  let waitsMs: number | undefined;
  for await (const each of text) {
    pending += each;
    if (pending.length < PIECE) continue;
    if (response.destroyed) return;
    // Nobody gets the rest, so that nothing would hold the reading of it back.
    if (response.req.method === "HEAD") return void response.end();
    const isTaken = response.write(pending);
    pending = "";
    if (isTaken) continue;
    const endWatch = slowAnswers.watch(response, bytesHeld ?? (() => HELD_OF_STREAM), waitsMs);
    // The client has gone: the loop ends, and with it the cursor.
    if (!(await drained(response))) return;
    const leftMs = endWatch();
    // Of a stream, what the client has taken is not held any more; the records of a list are, until its end. The time in which
    // they are made is not their client's.
    if (bytesHeld !== undefined) waitsMs = leftMs;
  }
  // A short answer is sent in one piece, with its length. Not by Express's `send`: there is no ETag to compare.
  if (!response.headersSent) response.set("Content-Length", String(Buffer.byteLength(pending)));
  response.end(pending);
}
