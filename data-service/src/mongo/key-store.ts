// Signing keys in `_signing_keys`, one document per key, named by its thumbprint.
import type { Db } from "mongodb";
import type { StoredKey, StoredKeysDeps } from "../auth/stored-keys.js";
import { unlessDuplicate } from "./driver-errors.js";

/** Sealed with the ENCRYPTION_KEY of the first start. */
interface ClaimDocument {
  _id: string;
  sealed: string;
}

const CLAIM = { _id: "encryption-key" };

interface KeyDocument {
  _id: string;
  activeFrom: Date;
  x: string;
  sealed?: string;
}

/** What the ring asks, and a way to remove keys whole, for whoever has lost their secret: another one may claim them then. */
export type KeyStore = StoredKeysDeps["store"] & { remove(kids: readonly string[]): Promise<void> };

export function makeKeyStore(db: Db): KeyStore {
  const keys = db.collection<KeyDocument>("_signing_keys");
  const claims = db.collection<ClaimDocument>("_markers");
  return {
    async all() {
      const documents = await keys.find().toArray();
      return documents.map(
        ({ _id, activeFrom, x, sealed }): StoredKey => ({ kid: _id, activeFrom, x, sealed }),
      );
    },
    async claim(sealed) {
      await claims.updateOne(CLAIM, { $setOnInsert: { sealed } }, { upsert: true }).catch(unlessDuplicate);
      return (await claims.findOne(CLAIM))?.sealed ?? sealed;
    },
    async claimed() {
      return (await claims.findOne(CLAIM))?.sealed;
    },
    async add({ kid, activeFrom, x, sealed }) {
      const document = { _id: kid, activeFrom, x, ...(sealed === undefined ? {} : { sealed }) };
      return (await keys.insertOne(document).catch(unlessDuplicate)) !== undefined;
    },
    async forgetPrivate(kids) {
      await keys.updateMany({ _id: { $in: [...kids] } }, { $unset: { sealed: "" } });
    },
    async remove(kids) {
      await keys.deleteMany({ _id: { $in: [...kids] } });
      await claims.deleteOne(CLAIM);
    },
  };
}
