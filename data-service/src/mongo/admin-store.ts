// Which root admins are left when one goes, or loses the password. Every record on which the answer rests has the turn in which
// it is asked (see lock).
import type { Clock } from "@portico/shared/clock";
import { type Db, type Filter, ObjectId } from "mongodb";
import type { RootOrigin } from "../auth/session.js";
import { TURN_FIELD } from "../catalog/own-fields.js";
import { FREE } from "../records/delete/leaving.js";
import type { UserHooksDeps } from "../records/user-hooks.js";
import { accountCollection } from "./identity-collections.js";
import { opensForRoot } from "./identity-store.js";
import { type Lock, makeLock } from "./lock.js";
import { type UserDocument, userCollection } from "./user-store.js";

export interface AdminStore extends Pick<UserHooksDeps, "isRootAdmin" | "takeTurn" | "hasProvider"> {
  /** Puts a turn into the record of this user and of every root admin, and asks nothing. */
  putTurn(userId: string, turn: string): Promise<void>;
}

/** Held by whoever takes away a root admin, or a root admin's way to sign in. */
export function makeAdminLock(db: Db, clock: Clock): Lock {
  return makeLock(db, clock, "root admins", "Other root admins are being changed; try again shortly.");
}

/** @param rootOrigin where providers open sessions for root admins (see auth/session) */
export function makeAdminStore(db: Db, systemTablePrefix: string, rootOrigin: RootOrigin): AdminStore {
  const users = userCollection(db, systemTablePrefix);
  const haveProvider = async (ids: readonly ObjectId[]): Promise<boolean> => {
    const theirs = { userId: { $in: [...ids] }, ...opensForRoot(rootOrigin) };
    // A request that is about to remove one has to look again, now that it is counted (see unlink).
    const leaving = { ...theirs, leavingSince: { $exists: true } };
    await accountCollection(db).updateMany(leaving, { $unset: { leavingSince: "" } });
    return (await accountCollection(db).findOne(theirs)) !== null;
  };
  /** Whether one of them has a password, or else a provider. */
  const haveWayIn = async (which: Filter<UserDocument>): Promise<boolean> => {
    const found = await users.find(which, { projection: { passwordHash: 1 } }).toArray();
    if (found.some(({ passwordHash }) => passwordHash !== undefined)) return true;
    return haveProvider(found.map(({ _id }) => _id));
  };
  const putTurn = async (userId: string, turn: string): Promise<void> => {
    const which = { $or: [{ _id: ObjectId.createFromHexString(userId) }, { isRootAdmin: true }] };
    await users.updateMany(which, { $set: { [TURN_FIELD]: turn } });
  };
  const isRootAdmin = async (userId: string): Promise<boolean> => {
    const which = { _id: ObjectId.createFromHexString(userId), isRootAdmin: true };
    return (await users.findOne(which, { projection: { _id: 1 } })) !== null;
  };
  return {
    isRootAdmin,
    putTurn,
    async takeTurn(userId, turn) {
      const _id = ObjectId.createFromHexString(userId);
      await putTurn(userId, turn);
      if (!(await isRootAdmin(userId))) return true;
      // One that a delete has marked stays only if the delete is refused.
      return haveWayIn({ _id: { $ne: _id }, isRootAdmin: true, isActive: true, ...FREE });
    },
    hasProvider: (userId) => haveProvider([ObjectId.createFromHexString(userId)]),
  };
}
