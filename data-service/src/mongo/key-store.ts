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
        if (!isDuplicate(error)) throw error;
      });
    },
    async forgetPrivate(kids) {
      await keys.updateMany({ _id: { $in: [...kids] } }, { $unset: { sealed: "" } });
    },
  };
}
