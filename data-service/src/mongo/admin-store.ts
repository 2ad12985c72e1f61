// Which root admins are left when one goes, or loses the password. Every record on which the answer rests has the turn in which it is asked (see
// lock).
import { type Db, ObjectId } from "mongodb";
import { TURN_FIELD } from "../catalog/own-fields.js";
import { FREE } from "../records/delete/leaving.js";
import type { UserHooksDeps } from "../records/user-hooks.js";
import { accountCollection } from "./identity-store.js";
import { userCollection } from "./user-store.js";

export type AdminStore = Pick<UserHooksDeps, "takeTurn" | "hasProvider">;

export function makeAdminStore(db: Db, systemTablePrefix: string): AdminStore {
  const users = userCollection(db, systemTablePrefix);
  return {
    async takeTurn(userId, turn) {
      const _id = ObjectId.createFromHexString(userId);
      await users.updateMany({ $or: [{ _id }, { isRootAdmin: true }] }, { $set: { [TURN_FIELD]: turn } });
      // One that a delete has marked stays only if the delete is refused.
      const others = { _id: { $ne: _id }, isRootAdmin: true, isActive: true };
      return users.countDocuments({ ...others, ...FREE }, { limit: 1 });
    },
    async hasProvider(userId) {
      const which = { userId: ObjectId.createFromHexString(userId) };
      return (await accountCollection(db).findOne(which)) !== null;
    },
  };
}
