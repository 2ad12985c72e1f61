// Provider accounts and the users they sign in: the port, and the writes that are safe even when many run at once.
import type { Identity, Provider } from "@portico/shared/oauth";
import type { Origins, RootOrigin } from "../auth/session.js";

/** When and in which session a provider account was connected. */
export interface Connected {
  readonly createdAt: Date;
  /** Of that session; null for an account that signed its user in by itself, and for those of earlier versions. */
  readonly origin: string | null;
  /** `seenOn` of that session (see auth/session): a session that the account opens is theirs as well. */
  readonly connectedOn: Origins;
}

/** A provider account that signs somebody in. */
export interface LinkedAccount extends Connected {
  readonly id: string;
  readonly provider: Provider;
  readonly userId: string;
  readonly email: string | null;
  /** Its user is being made, under the id that is already noted here. */
  readonly isPending: boolean;
}

export interface IdentityUser {
  readonly id: string;
  readonly isActive: boolean;
  readonly hasPassword: boolean;
  readonly emailUnproven: boolean;
  readonly isRootAdmin: boolean;
  readonly roleId?: string;
  /** As it was when all of this was read. */
  readonly epoch: string;
}

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string | null;
  readonly roleId: string | undefined;
  readonly createdAt: Date;
}

/** What signing in by a provider needs to know of users. */
export interface IdentityUsers {
  find(userId: string): Promise<IdentityUser | undefined>;
  findByEmail(email: string): Promise<IdentityUser | undefined>;
  newId(): string;
  /** The id of a role. */
  findRole(nameOrId: string): Promise<string | undefined>;
  /** Makes a user without a password. "there": somebody else has made the same one; "taken": the e-mail is another's. */
  insert(user: NewUser): Promise<"made" | "there" | "taken">;
  /** Removes a user that was made a moment ago, unless somebody has proved the address, or a provider signs them in by now. */
  takeBack(user: Pick<NewUser, "id" | "emailVerified">): Promise<void>;
  /**
   * Takes away every way into an account whose address was never proved, then marks the address as proved.
   * @returns false when somebody else has proved it meanwhile, or it is another one by now, or the user is about to be deleted
   */
  takeOver(userId: string, email: string): Promise<boolean>;
  /**
   * Keeps the address from being taken back with the change that set it, should that be refused after all.
   * @returns false when it is another one by now, or the user is about to be deleted
   */
  keepAddress(userId: string, email: string): Promise<boolean>;
  /** Marks the address as proved, if it is the user's. */
  proveAddress(userId: string, email: string): Promise<void>;
}

/** One row per (provider, subject). Every write is conditional: undefined or false means that somebody else was faster. */
export interface LinkedAccounts {
  find(identity: Identity): Promise<LinkedAccount | undefined>;
  /** @param replacing the user the row names now; undefined when there is no row */
  link(identity: Identity, userId: string, replacing: string | undefined, by: Connected): Promise<boolean>;
  /** Undoes a link to this user that was made a moment ago. */
  takeBack(identity: Identity, userId: string): Promise<void>;
  /** Writes down which id the new user will have, before there is one. */
  reserve(identity: Identity, userId: string, replacing: string | undefined, now: Date): Promise<boolean>;
  /**
   * The user that was being made exists now. Of those who say so, one alone confirms it, and tells of the new user; it is
   * another's account when the row names another user by now.
   */
  confirm(identity: Identity, userId: string): Promise<"confirmed" | "as before" | "another's">;
  listOf(userId: string): Promise<readonly LinkedAccount[]>;
  /**
   * Marks a row as leaving, and tells whose account it is and how many others stay. Takes the marks off that are older than a request lasts: whoever
   * set one may only stand still, and finds out by `remove`. Undefined when the user has no such row.
   * @param rootOrigin of a root admin, whom others do not sign in; null counts all
   */
  markLeaving(
    accountId: string,
    userId: string,
    now: Date,
    rootOrigin: RootOrigin,
  ): Promise<{ readonly provider: Provider; readonly staying: number } | undefined>;
  /** @param since when it was marked: a mark of another request stays */
  unmarkLeaving(accountId: string, since: Date): Promise<void>;
  /** @returns false when the row does not bear the mark of then any more */
  remove(accountId: string, since: Date): Promise<boolean>;
  /** Of a user who was deleted. */
  removeAllOf(userId: string): Promise<void>;
}
