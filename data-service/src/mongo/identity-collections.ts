// Where flows, bridge codes and provider accounts are stored. Collections of our own: no route reaches them.
import type { Provider } from "@portico/shared/oauth";
import type { Collection, Db, ObjectId } from "mongodb";
import type { Origins } from "../auth/session.js";
import type { StoredFlow } from "../identity/flows.js";
import type { BridgeCode } from "../identity/sign-in.js";

export interface FlowDocument extends Omit<StoredFlow, "stateHash"> {
  _id: string;
}

export interface CodeDocument extends Omit<BridgeCode, "codeHash"> {
  _id: string;
}

export interface AccountDocument {
  _id: ObjectId;
  provider: Provider;
  subject: string;
  userId: ObjectId;
  email?: string;
  createdAt: Date;
  origin?: string;
  connectedOn?: Origins;
  /** The user with this id is still being made. */
  pending?: true;
  /** Somebody has been about to remove this row since then. */
  leavingSince?: Date;
}

export const flowCollection = (db: Db): Collection<FlowDocument> => db.collection("_oauth_flows");
export const codeCollection = (db: Db): Collection<CodeDocument> => db.collection("_bridge_codes");
export const accountCollection = (db: Db): Collection<AccountDocument> => db.collection("_oauth_accounts");
