// An address -> a connected database. Nothing else knows which engine runs.
import { type Db, MongoClient } from "mongodb";
import { openEmbeddedEngine } from "./embedded/engine.js";

export interface Store {
  client: MongoClient;
  db: Db;
  transactions: boolean;
  close(): Promise<void>;
}

export async function connectStore(mongodbUrl: string): Promise<Store> {
  const embedded = /^mongodb_embedded:\/\/(.+)$/.exec(mongodbUrl)?.[1];
  const engine = embedded === undefined ? undefined : await openEmbeddedEngine(decodeURIComponent(embedded));
  const client = new MongoClient(engine?.uri ?? mongodbUrl, {
    writeConcern: { w: "majority", journal: true },
  });
  await client.connect();
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(engine?.uri ?? mongodbUrl)?.[1];
  return {
    client,
    db: client.db(path ?? "portico"),
    transactions: false,
    async close() {
      await client.close();
      await engine?.close();
    },
  };
}
