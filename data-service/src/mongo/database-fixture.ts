// A database of its own for a unit test, on the MongoDB of the run; and what is open there.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { type Db, type Document, MongoClient, type MongoClientOptions, ObjectId } from "mongodb";
import { clientAside } from "./aside.js";
import { CursorKills } from "./cursor-kills.js";

const NEW_SOCKETS = "net.client.socket";

export interface TestDatabase {
  readonly db: Db;
  readonly cursorKills: CursorKills;
  /** Drops it. */
  close(): Promise<void>;
}

export async function openTestDatabase(options: MongoClientOptions = {}): Promise<TestDatabase> {
  const url = process.env.MONGODB_URL;
  if (url === undefined) throw new Error("MONGODB_URL is set by the test run");
  const client = await MongoClient.connect(url, options);
  const db = client.db(`test_${new ObjectId().toHexString()}`);
  const aside = clientAside(url, {});
  const cursorKills = new CursorKills(aside.db(db.databaseName));
  return {
    db,
    cursorKills,
    async close() {
      cursorKills.close();
      await db.dropDatabase();
      await Promise.all([aside.close(), client.close()]);
    },
  };
}

/** What the database still has running or open for a collection, idle cursors included. */
export async function openOn({ client, databaseName }: Db, collection: string): Promise<Document[]> {
  const isOurs = { $match: { ns: `${databaseName}.${collection}` } };
  return client
    .db("admin")
    .aggregate([{ $currentOp: { idleCursors: true, allUsers: true } }, isOurs])
    .toArray();
}

/** Notes every connection that this process opens from now on. */
export function noteSockets(): { readonly sockets: readonly Socket[]; stop(): void } {
  const sockets: Socket[] = [];
  const note = (message: unknown): void => {
    if (typeof message !== "object" || message === null || !("socket" in message)) return;
    if (message.socket instanceof Socket) sockets.push(message.socket);
  };
  subscribe(NEW_SOCKETS, note);
  return { sockets, stop: () => void unsubscribe(NEW_SOCKETS, note) };
}
