// Signing keys in `_signing_keys`, one document a key, named by its thumbprint.
import { type Db, MongoServerError } from "mongodb";
import type { StoredKey, StoredKeysDeps } from "../auth/stored-keys.js";

interface KeyDocument {
  _id: string;
  activeFrom: Date;
  x: string;
  sealed?: string;
}

const DUPLICATE_KEY = 11_000;

export function makeKeyStore(db: Db): StoredKeysDeps["store"] {
  const keys = db.collection<KeyDocument>("_signing_keys");
  return {
    async all() {
      const documents = await keys.find().toArray();
      return documents.map(
        ({ _id, activeFrom, x, sealed }): StoredKey => ({ kid: _id, activeFrom, x, sealed }),
      );
    },
    async add({ kid, activeFrom, x, sealed }) {
      const document = { _id: kid, activeFrom, x, ...(sealed === undefined ? {} : { sealed }) };
      await keys.insertOne(document).catch((error: unknown) => {
        if (!(error instanceof MongoServerError && error.code === DUPLICATE_KEY)) throw error;
      });
    },
    async forgetPrivate(kids) {
      await keys.updateMany({ _id: { $in: [...kids] } }, { $unset: { sealed: "" } });
    },
  };
}
