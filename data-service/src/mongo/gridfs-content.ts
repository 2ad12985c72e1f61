// Contents of files in GridFS: the format of the specification, written and read by ourselves.
//
// The driver's own streams would do, except for two things: its reader asks for up to 16 MB at once, which makes 800 MB for
// fifty downloads; and when its writer is cut off, a chunk that is under way arrives after the others were removed
// (docs/decisions/015).
import { Readable } from "node:stream";
import type { Binary, Collection, Db } from "mongodb";
import { ObjectId } from "mongodb";
import pLimit, { type LimitFunction } from "p-limit";
import type { ByteRange } from "../files/byte-range.js";
import { ContentMissing, type ContentStore } from "../files/content-store.js";
import { inPieces } from "../files/in-pieces.js";
import type { DiskSpace } from "./disk-space.js";
import { isUnanswered } from "./driver-errors.js";
import { unflushed } from "./unflushed.js";

const BUCKET = "_content";
/** Half of what the specification advises: each running download holds one chunk in memory, each upload up to two. */
const CHUNK_BYTES = 127 * 1024;
/** How many chunks an upload stores between two looks at the disk: about a megabyte, as many may be under way at once. */
const CHUNKS_BETWEEN_LOOKS = 8;
/** How many chunks a download asks for at once. */
const BATCH = 1;
/** Downloads may use this share of the connections to wait for chunks: the others are for everybody else. */
const SHARE = 1 / 3;

interface ChunkDocument {
  readonly _id: ObjectId;
  readonly files_id: ObjectId;
  readonly n: number;
  readonly data: Binary | Buffer;
}

interface FileDocument {
  readonly _id: ObjectId;
  readonly length: number;
  readonly chunkSize: number;
  readonly uploadDate: Date;
  readonly filename: string;
}

/**
 * @param isEmbedded whether the engine ends with this process
 * @param space given if the disk under the database is ours to watch
 */
export function makeGridFsContent(db: Db, isEmbedded: boolean, space: DiskSpace | undefined): ContentStore {
  const files = db.collection<FileDocument>(`${BUCKET}.files`);
  // When the end of a file is on disk, its chunks are as well.
  const chunks = db.collection<ChunkDocument>(`${BUCKET}.chunks`, unflushed(isEmbedded));
  const turns = pLimit(turnsOf(db.client.options.maxPoolSize));
  return {
    async write(key, bytes) {
      const files_id = idOf(key);
      let n = 0;
      let length = 0;
      for await (const data of inPieces(bytes, CHUNK_BYTES)) {
        // Others fill the disk meanwhile, and not all say beforehand how much they bring.
        if (n % CHUNKS_BETWEEN_LOOKS === 0) await space?.require();
        await chunks.insertOne({ _id: new ObjectId(), files_id, n, data });
        await space?.written(data.length);
        n += 1;
        length += data.length;
      }
      const uploadDate = new Date();
      await files.insertOne({ _id: files_id, length, chunkSize: CHUNK_BYTES, uploadDate, filename: key });
    },
    mayStillLand: isUnanswered,
    read: (key, range) => readChunks(chunks, turns, idOf(key), range),
    async remove(key) {
      await files.deleteOne({ _id: idOf(key) });
      await chunks.deleteMany({ files_id: idOf(key) });
    },
  };
}

/** @param connections how many there may be; 0 is any number, as for the driver */
function turnsOf(connections: number): number {
  return connections === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(connections * SHARE));
}

/** Safe to repeat, even by several instances at once. */
export async function ensureGridFsIndexes(db: Db): Promise<void> {
  await db.collection(`${BUCKET}.chunks`).createIndex({ files_id: 1, n: 1 }, { unique: true });
  await db.collection(`${BUCKET}.files`).createIndex({ filename: 1, uploadDate: 1 });
}

function missing(files_id: ObjectId, n: number): ContentMissing {
  const key = files_id.toHexString();
  return new ContentMissing(key, new Error(`chunk ${n} of ${key} is missing`));
}

function idOf(key: string): ObjectId {
  return ObjectId.createFromHexString(key);
}

/**
 * Reads nothing ahead: a download that stands still holds one chunk in memory. Not a generator, whose frame might keep an
 * earlier chunk as long as it lives.
 */
function readChunks(
  chunks: Collection<ChunkDocument>,
  turns: LimitFunction,
  files_id: ObjectId,
  { start, end }: ByteRange,
): Readable {
  const [first, last] = [Math.floor(start / CHUNK_BYTES), Math.floor(end / CHUNK_BYTES)];
  // With the limit the server recognises the last chunk, and need not be asked for more.
  const options = { sort: { n: 1 } as const, batchSize: BATCH, limit: last - first + 1 };
  const cursor = chunks
    .find({ files_id, n: { $gte: first, $lte: last } }, options)
    .project<{ n: number; data: Binary }>({ _id: 0, n: 1, data: 1 });
  let expected = first;
  let asking: ReturnType<typeof cursor.next> = Promise.resolve(null);
  const ask = (): typeof asking => {
    asking = cursor.next();
    return asking;
  };
  const next = async (): Promise<Uint8Array | null> => {
    const chunk = await turns(ask);
    if (chunk === null && expected > last) return null;
    if (chunk?.n !== expected) throw missing(files_id, expected);
    expected += 1;
    const from = chunk.n * CHUNK_BYTES;
    const [begin, stop] = [Math.max(0, start - from), Math.min(chunk.data.length(), end + 1 - from)];
    // A reader is not notified of an empty piece: it would wait forever.
    if (begin >= stop) throw new Error(`chunk ${chunk.n} of ${files_id.toHexString()} is too short`);
    return chunk.data.buffer.subarray(begin, stop);
  };
  return new Readable({
    highWaterMark: 0,
    read() {
      next().then(
        (piece) => void (this.destroyed || this.push(piece)),
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      const close = (): Promise<void> => cursor.close();
      // Before the first answer the driver knows of no cursor that it could close.
      asking.then(close, close).then(() => done(error), done);
    },
  });
}
