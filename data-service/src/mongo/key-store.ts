// Signing keys in `_signing_keys`, one document per key, named by its thumbprint.
import type { Db } from "mongodb";
import type { StoredKey, StoredKeysDeps } from "../auth/stored-keys.js";
import { isDuplicate } from "./driver-errors.js";

interface KeyDocument {
  _id: string;
  activeFrom: Date;
  x: string;
  sealed?: string;
}

/** What the ring asks, and a way to remove keys whole, for whoever has lost their secret. */
export type KeyStore = StoredKeysDeps["store"] & { remove(kids: readonly string[]): Promise<void> };

export function makeKeyStore(db: Db): KeyStore {
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
      const added = await keys.insertOne(document).catch((error: unknown) => {
        if (!isDuplicate(error)) throw error;
      });
      return added !== undefined;
    },
    async forgetPrivate(kids) {
      await keys.updateMany({ _id: { $in: [...kids] } }, { $unset: { sealed: "" } });
    },
    async remove(kids) {
      await keys.deleteMany({ _id: { $in: [...kids] } });
    },
  };
}
