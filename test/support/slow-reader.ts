// A client that reads an answer at its own pace, and a look at the cursors it keeps open in the database.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { MongoClient } from "mongodb";

export interface SlowReader {
  /** Reads on until at least this many bytes have come since the beginning, then stops reading. */
  readTo(bytes: number): Promise<void>;
  /** Reads to the end. @returns all bytes of the answer */
  readAll(): Promise<number>;
  /** The same. @returns what came since it stopped reading */
  readRest(): Promise<string>;
  /** How many have come until now, but for those of `readRest`. */
  bytes(): number;
  /** Goes away without a word. */
  leave(): void;
}

/** Asks for an address; nothing is read before `readTo` or `readAll`. */
export async function readSlowly(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<SlowReader> {
  const request = get(url, { headers, agent: false });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
  let bytes = 0;
  const readRest = async (): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };
  return {
    readTo: (wanted) =>
      new Promise((resolve) => {
        const take = (chunk: Buffer): void => {
          bytes += chunk.length;
          if (bytes < wanted) return;
          answer.off("data", take);
          answer.pause();
          resolve();
        };
        answer.on("data", take);
        answer.resume();
      }),
    async readAll() {
      for await (const chunk of answer) bytes += (chunk as Buffer).length;
      return bytes;
    },
    readRest,
    bytes: () => bytes,
    leave: () => request.destroy(),
  };
}

interface CursorOperation {
  readonly cursor?: { readonly nDocsReturned: number };
}

/** Documents that have left each cursor that is open on the database of this client and waits to be asked for more. */
export async function openCursors(client: MongoClient): Promise<number[]> {
  const found = await client
    .db("admin")
    .aggregate<CursorOperation>([
      { $currentOp: { idleCursors: true, allUsers: true } },
      { $match: { type: "idleCursor", ns: { $regex: `^${client.options.dbName}\\.` } } },
    ])
    .toArray();
  return found.map(({ cursor }) => cursor?.nDocsReturned ?? 0);
}
