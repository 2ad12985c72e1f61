// Users as auth/ needs them: reads and writes of `{SYSTEM_TABLE_PREFIX}user`.
import { type Collection, type Db, ObjectId } from "mongodb";
import type { FirstAdminDeps } from "../auth/first-admin.js";
import type { LogInDeps, LogInUser } from "../auth/log-in.js";
import { FIRST_EPOCH } from "../auth/session.js";
import type { SessionCacheDeps } from "../auth/session-cache.js";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type { UserHooksDeps } from "../records/user-hooks.js";
import { whenReached } from "./await-server.js";
import { unlessDuplicate } from "./driver-errors.js";
import { ON_PRIMARY } from "./on-primary.js";

/** A user as stored. The catalog's `svc_user` describes the same collection, so null is never stored. */
export interface UserDocument {
  _id: ObjectId;
  /** Normalised by catalog/email-address. */
  email: string;
  passwordHash?: string;
  /** See auth/session. */
  sessionEpoch?: string;
  name?: string;
  isActive: boolean;
  isRootAdmin: boolean;
  /** Nobody has proved the address: whoever proves it by a provider takes the account over (security row B1). */
  emailUnproven?: boolean;
  roleId?: ObjectId;
  createdAt: Date;
  updatedAt: Date;
  [VERSION_FIELD]?: number;
  /** Whose turn it is to take rights from root admins: see lock. */
  _turn?: string;
}

/** Something that must happen only once in a deployment's life, by name. */
interface MarkerDocument {
  _id: string;
  userId: ObjectId;
}

/** Everything that the use cases of auth/ ask about users, and what a change of a user compares. */
export type UserStore = LogInDeps["users"] & {
  /** What this user's password is checked against, and who it is. */
  findById(
    userId: string,
  ): Promise<(LogInUser & { readonly email: string; readonly isRootAdmin: boolean }) | undefined>;
  /** All of them, by address. */
  listRootAdmins(): Promise<RootAdmin[]>;
} & SessionCacheDeps["users"] &
  FirstAdminDeps["users"] &
  Pick<UserHooksDeps, "emailOf">;

export interface RootAdmin {
  readonly id: string;
  readonly email: string;
}

const FIRST_ADMIN = "first-admin";

export function userCollection(db: Db, systemTablePrefix: string): Collection<UserDocument> {
  return db.collection<UserDocument>(systemTableNames(systemTablePrefix).users);
}

const CREDENTIALS = { passwordHash: 1, isActive: 1, sessionEpoch: 1 } as const;

function credentialsOf({ _id, passwordHash, isActive, sessionEpoch }: UserDocument): LogInUser {
  return {
    id: _id.toHexString(),
    passwordHash: passwordHash ?? null,
    isActive: isActive === true,
    epoch: sessionEpoch ?? FIRST_EPOCH,
  };
}

export function makeUserStore(db: Db, systemTablePrefix: string): UserStore {
  const users = userCollection(db, systemTablePrefix);
  const markers = db.collection<MarkerDocument>("_markers");
  return {
    async findByEmail(email) {
      const user = await users.findOne({ email: { $eq: email } }, { projection: CREDENTIALS });
      return user === null ? undefined : credentialsOf(user);
    },
    async findById(userId) {
      const user = await users.findOne(
        { _id: ObjectId.createFromHexString(userId) },
        { projection: { ...CREDENTIALS, email: 1, isRootAdmin: 1 } },
      );
      if (user === null) return undefined;
      return { ...credentialsOf(user), email: user.email, isRootAdmin: user.isRootAdmin === true };
    },
    async emailOf(userId) {
      const which = { _id: ObjectId.createFromHexString(userId) };
      return (await users.findOne(which, { projection: { email: 1 } }))?.email;
    },
    async epochOf(userId) {
      const user = await users.findOne(
        { _id: ObjectId.createFromHexString(userId) },
        { projection: { sessionEpoch: 1 } },
      );
      return user?.sessionEpoch ?? FIRST_EPOCH;
    },
    async replacePasswordHash(userId, old, fresh) {
      // A sign-in improves it beside its own work.
      await users.updateOne(
        { _id: ObjectId.createFromHexString(userId), passwordHash: { $eq: old } },
        { $set: { passwordHash: fresh } },
        ON_PRIMARY,
      );
    },
    async findActive(userId) {
      const user = await users.findOne(
        { _id: ObjectId.createFromHexString(userId), isActive: true },
        { projection: { roleId: 1, isRootAdmin: 1, sessionEpoch: 1 } },
      );
      if (user === null) return undefined;
      const { roleId, isRootAdmin, sessionEpoch } = user;
      return {
        roleId: roleId?.toHexString() ?? null,
        isRootAdmin: isRootAdmin === true,
        epoch: sessionEpoch ?? FIRST_EPOCH,
      };
    },
    async rootAdmins() {
      const found = await users.find({ isRootAdmin: true }, { projection: { isActive: 1 } }).toArray();
      if (found.some(({ isActive }) => isActive)) return "active";
      return found.length === 0 ? "none" : "inactive";
    },
    async listRootAdmins() {
      const found = await users.find({ isRootAdmin: true }).sort({ email: 1 }).toArray();
      return found.map(({ _id, email }) => ({ id: _id.toHexString(), email }));
    },
    async reserveFirstAdminId() {
      const mine = new ObjectId();
      await markers
        .updateOne({ _id: FIRST_ADMIN }, { $setOnInsert: { userId: mine } }, { upsert: true })
        // Two upserts at once: one inserts, the other may get the duplicate error.
        .catch(unlessDuplicate);
      const reserved = (await markers.findOne({ _id: FIRST_ADMIN }))?.userId ?? mine;
      const owner = await users.findOne({ _id: reserved }, { projection: { isRootAdmin: 1, isActive: 1 } });
      if (owner === null || !owner.isRootAdmin || owner.isActive) return reserved.toHexString();
      // Its owner was deactivated and stays so: the next one gets another id, the same for all that start.
      await markers.updateOne({ _id: FIRST_ADMIN, userId: reserved }, { $set: { userId: mine } });
      return ((await markers.findOne({ _id: FIRST_ADMIN }))?.userId ?? mine).toHexString();
    },
    async insertRootAdmin({ id, email, passwordHash, createdAt }) {
      const admin = { email, passwordHash, name: "Admin", isActive: true, isRootAdmin: true };
      const document = { _id: ObjectId.createFromHexString(id), ...admin, createdAt, updatedAt: createdAt };
      const insert = async (): Promise<boolean> => {
        if ((await users.insertOne(document).catch(unlessDuplicate)) !== undefined) return true;
        // Made by an attempt whose answer was lost.
        return (await users.findOne({ _id: document._id, passwordHash: { $eq: passwordHash } })) !== null;
      };
      // Nobody else knows the password: a start that was begun anew would find an admin, and show none.
      return whenReached(insert, { ms: UNSURE_MS, tell: () => {} }, String);
    },
  };
}

/** How long a start asks whether the first admin was made. */
const UNSURE_MS = 30_000;
