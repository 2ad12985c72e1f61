// Flows, bridge codes and provider accounts, and the users behind them.
import type { Identity } from "@portico/shared/oauth";
import { type Collection, type Db, type Filter, ObjectId } from "mongodb";
import { FIRST_EPOCH, type RootOrigin } from "../auth/session.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type {
  Connected,
  IdentityUser,
  IdentityUsers,
  LinkedAccount,
  LinkedAccounts,
} from "../identity/accounts.js";
import type { FlowDeps } from "../identity/flows.js";
import type { RedeemDeps } from "../identity/redeem.js";
import type { BridgeCode, SignInDeps } from "../identity/sign-in.js";
import { isDuplicate, unlessDuplicate } from "./driver-errors.js";
import {
  type AccountDocument,
  accountCollection,
  type CodeDocument,
  codeCollection,
  type FlowDocument,
  flowCollection,
} from "./identity-collections.js";
import { keepAddress, proveAddress, takeOver } from "./take-over.js";
import { type UserDocument, userCollection } from "./user-store.js";

export interface IdentityStore {
  readonly flows: FlowDeps["flows"];
  readonly codes: SignInDeps["codes"] & RedeemDeps["codes"];
  readonly accounts: LinkedAccounts;
  readonly identityUsers: IdentityUsers;
}

/** A process that died between marking and removing must not lock an account forever. */
const LEAVING_MS = 10_000;

/** Which rows sign root admins in where this is the only origin for them (see auth/session). */
export function opensForRoot(rootOrigin: RootOrigin): Filter<AccountDocument> {
  return rootOrigin === null ? {} : { connectedOn: { $not: { $elemMatch: { $ne: rootOrigin } } } };
}

export function makeIdentityStore(db: Db, systemTablePrefix: string): IdentityStore {
  return {
    flows: makeFlows(flowCollection(db)),
    codes: makeCodes(codeCollection(db)),
    accounts: makeAccounts(accountCollection(db)),
    identityUsers: makeUsers(db, systemTablePrefix),
  };
}

function makeFlows(flows: Collection<FlowDocument>): IdentityStore["flows"] {
  return {
    async insert({ stateHash, ...rest }, now) {
      await flows.insertOne({ _id: stateHash, ...rest });
      // The embedded engine has no TTL monitor; whoever begins a flow removes the expired ones.
      await flows.deleteMany({ expiresAt: { $lte: now } });
    },
    async take({ stateHash, provider, flowCookieHashes, now }) {
      const flow = await flows.findOneAndDelete({
        _id: { $eq: stateHash },
        provider,
        expiresAt: { $gt: now },
        $or: [{ isOwnOrigin: false }, { flowCookieHash: { $in: [...flowCookieHashes] } }],
      });
      if (flow === null) return undefined;
      const { _id, provider: _provider, expiresAt: _expiresAt, ...rest } = flow;
      return rest;
    },
  };
}

function makeCodes(codes: Collection<CodeDocument>): IdentityStore["codes"] {
  const toCode = (document: CodeDocument | null): BridgeCode | undefined => {
    if (document === null) return undefined;
    const { _id, ...rest } = document;
    return { codeHash: _id, ...rest };
  };
  return {
    async insert({ codeHash, ...rest }, now) {
      await codes.insertOne({ _id: codeHash, ...rest });
      await codes.deleteMany({ expiresAt: { $lte: now } });
    },
    async take({ codeHash, flowCookieHashes, requireFlowCookie, redirect, now }) {
      const byCookie: Filter<CodeDocument> = { flowCookieHash: { $in: [...flowCookieHashes] } };
      // Never for a link: if one person began it and another finished it, it would lead the other into the first one's
      // account.
      const withoutCookie: Filter<CodeDocument> = { isOwnOrigin: false, linkSessionId: null };
      return toCode(
        await codes.findOneAndDelete({
          _id: { $eq: codeHash },
          expiresAt: { $gt: now },
          ...(redirect === null ? {} : { redirect: { $eq: redirect } }),
          $or: requireFlowCookie ? [byCookie] : [byCookie, withoutCookie],
        }),
      );
    },
    async find(codeHash, now) {
      return toCode(await codes.findOne({ _id: { $eq: codeHash }, expiresAt: { $gt: now } }));
    },
  };
}

function makeAccounts(accounts: Collection<AccountDocument>): LinkedAccounts {
  const keyOf = ({ provider, subject }: Identity) => ({ provider, subject: { $eq: subject } });

  /** Writes a new row, or moves it away from the user that it names now. */
  const put = async (
    identity: Identity,
    userId: string,
    replacing: string | undefined,
    { createdAt, origin, connectedOn }: Connected,
    pending?: true,
  ): Promise<boolean> => {
    const { provider, subject, email } = identity;
    const user = ObjectId.createFromHexString(userId);
    const fields = {
      provider,
      subject,
      userId: user,
      createdAt,
      ...(email === null ? {} : { email }),
      ...(origin === null ? {} : { origin }),
      ...(connectedOn.length === 0 ? {} : { connectedOn }),
      ...(pending === undefined ? {} : { pending }),
    };
    if (replacing !== undefined) {
      const filter = { ...keyOf(identity), userId: ObjectId.createFromHexString(replacing) };
      return (await accounts.replaceOne(filter, fields)).matchedCount === 1;
    }
    const account = { _id: new ObjectId(), ...fields };
    return (await accounts.insertOne(account).catch(unlessDuplicate)) !== undefined;
  };

  return {
    async find(identity) {
      const account = await accounts.findOne(keyOf(identity));
      return account === null ? undefined : toAccount(account);
    },
    link: put,
    async takeBack(identity, userId) {
      await accounts.deleteOne({ ...keyOf(identity), userId: ObjectId.createFromHexString(userId) });
    },
    reserve: (identity, userId, replacing, createdAt) =>
      put(identity, userId, replacing, { createdAt, origin: null, connectedOn: [] }, true),
    async confirm(identity, userId) {
      const row = { ...keyOf(identity), userId: ObjectId.createFromHexString(userId) };
      const { matchedCount, modifiedCount } = await accounts.updateOne(row, { $unset: { pending: "" } });
      if (matchedCount === 0) return "another's";
      return modifiedCount === 1 ? "confirmed" : "as before";
    },
    async listOf(userId) {
      const found = accounts.find({ userId: ObjectId.createFromHexString(userId) }).sort({ _id: 1 });
      return (await found.toArray()).map(toAccount);
    },
    async markLeaving(accountId, userId, now, rootOrigin) {
      if (!ObjectId.isValid(accountId) || accountId.length !== 24) return undefined;
      const user = ObjectId.createFromHexString(userId);
      const id = ObjectId.createFromHexString(accountId);
      const marked = await accounts.findOneAndUpdate(
        { _id: id, userId: user },
        { $set: { leavingSince: now } },
      );
      if (marked === null) return undefined;
      const others = { _id: { $ne: id }, userId: user };
      const lapsed = { $lte: new Date(now.getTime() - LEAVING_MS) };
      await accounts.updateMany({ ...others, leavingSince: lapsed }, { $unset: { leavingSince: "" } });
      const staying = { ...others, ...opensForRoot(rootOrigin), leavingSince: { $exists: false } };
      return { provider: marked.provider, staying: await accounts.countDocuments(staying) };
    },
    async unmarkLeaving(accountId, since) {
      await accounts.updateOne(markedSince(accountId, since), { $unset: { leavingSince: "" } });
    },
    async remove(accountId, since) {
      return (await accounts.deleteOne(markedSince(accountId, since))).deletedCount === 1;
    },
    async removeAllOf(userId) {
      await accounts.deleteMany({ userId: ObjectId.createFromHexString(userId) });
    },
  };
}

function markedSince(accountId: string, leavingSince: Date) {
  return { _id: ObjectId.createFromHexString(accountId), leavingSince };
}

function toAccount({ _id, provider, userId, createdAt, pending, ...rest }: AccountDocument): LinkedAccount {
  const { email = null, origin = null, connectedOn = [] } = rest;
  return {
    id: _id.toHexString(),
    provider,
    userId: userId.toHexString(),
    email,
    createdAt,
    origin,
    connectedOn,
    isPending: pending === true,
  };
}

function makeUsers(db: Db, systemTablePrefix: string): IdentityUsers {
  const users = userCollection(db, systemTablePrefix);
  const projection = {
    passwordHash: 1,
    isActive: 1,
    emailUnproven: 1,
    isRootAdmin: 1,
    sessionEpoch: 1,
    roleId: 1,
  };
  const roles = db.collection<{ _id: ObjectId; name: string }>(systemTableNames(systemTablePrefix).roles);
  const findOne = async (filter: Filter<UserDocument>): Promise<IdentityUser | undefined> => {
    const user = await users.findOne(filter, { projection });
    return user === null ? undefined : toUser(user);
  };
  return {
    newId: () => new ObjectId().toHexString(),
    find: (userId) => findOne({ _id: ObjectId.createFromHexString(userId) }),
    findByEmail: (email) => findOne({ email: { $eq: email } }),
    async findRole(nameOrId) {
      const ids = /^[0-9a-f]{24}$/i.test(nameOrId) ? [ObjectId.createFromHexString(nameOrId)] : [];
      const role = await roles.findOne({ $or: [{ _id: { $in: ids } }, { name: { $eq: nameOrId } }] });
      return role?._id.toHexString();
    },
    async insert({ id, email, emailVerified, name, roleId, createdAt }) {
      const _id = ObjectId.createFromHexString(id);
      try {
        await users.insertOne({
          _id,
          email,
          isActive: true,
          isRootAdmin: false,
          createdAt,
          updatedAt: createdAt,
          ...(name === null ? {} : { name }),
          ...(roleId === undefined ? {} : { roleId: ObjectId.createFromHexString(roleId) }),
          ...(emailVerified ? {} : { emailUnproven: true }),
        });
        return "made";
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        // If the id collided, somebody else made the same user a moment ago. If the e-mail did, the address belongs to
        // another.
        return (await findOne({ _id })) === undefined ? "taken" : "there";
      }
    },
    async takeBack({ id, emailVerified }) {
      const _id = ObjectId.createFromHexString(id);
      if ((await accountCollection(db).findOne({ userId: _id })) !== null) return;
      await users.deleteOne(emailVerified ? { _id } : { _id, emailUnproven: true });
    },
    takeOver: (userId, email) => takeOver(db, users, userId, email),
    keepAddress: (userId, email) => keepAddress(users, userId, email),
    async proveAddress(userId, email) {
      await proveAddress(users, userId, email);
    },
  };
}

function toUser(user: UserDocument): IdentityUser {
  const { _id, passwordHash, isActive, emailUnproven, isRootAdmin, sessionEpoch = FIRST_EPOCH } = user;
  const roleId = user.roleId?.toHexString();
  return {
    id: _id.toHexString(),
    isActive: isActive === true,
    hasPassword: passwordHash !== undefined,
    emailUnproven: emailUnproven === true,
    isRootAdmin: isRootAdmin === true,
    ...(roleId !== undefined && { roleId }),
    epoch: sessionEpoch,
  };
}

/** One row per provider account; expired documents are swept away. Safe to repeat. */
export async function ensureIdentityIndexes(db: Db): Promise<void> {
  await Promise.all([
    accountCollection(db).createIndexes([
      { key: { provider: 1, subject: 1 }, unique: true },
      { key: { userId: 1 } },
    ]),
    flowCollection(db).createIndexes([
      { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
      // Sign-ins, and so most flows, name no user.
      { key: { "link.userId": 1 }, sparse: true },
    ]),
    codeCollection(db).createIndexes([
      { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
      { key: { userId: 1 } },
    ]),
  ]);
}
