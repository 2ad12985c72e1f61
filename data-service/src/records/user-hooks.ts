// What writing a user means beyond its columns: passwords are hashed, e-mails normalised, the last admin stays,
// and a new password or a deactivation ends the user's sessions.
import { randomBytes } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import { isObject } from "@portico/shared/json";
import { requireField, type Table } from "../catalog/catalog.js";
import { emailProblem, normalizeEmail } from "../catalog/email-address.js";
import { TURN_FIELD } from "../catalog/own-fields.js";
import type { Stored } from "../catalog/stored.js";
import type { Lock } from "../mongo/lock.js";
import { type FieldsChanged, NO_HOOKS, type TableHooks } from "./table-hooks.js";

export interface UserHooksDeps {
  readonly hash: (password: string) => Promise<string>;
  /** Forgets what is cached about a user, so that a change holds at once. */
  readonly forgetUser: (userId: string) => void;
  /**
   * Clears away what a change or the deletion of the user has made worthless: sessions, and the tokens and providers of a
   * deleted user.
   */
  readonly clearAway: (userId: string) => Promise<void>;
  readonly isRootAdmin: (userId: string) => Promise<boolean>;
  /**
   * Puts a turn into the record of this user and of every root admin.
   * @returns whether another active root admin can sign in, or this user is none
   */
  readonly takeTurn: (userId: string, turn: string) => Promise<boolean>;
  /** Whether a provider signs the user in, and stays unless somebody looks again. */
  readonly hasProvider: (userId: string) => Promise<boolean>;
  /** The user's address. */
  readonly emailOf: (userId: string) => Promise<string | undefined>;
  /** Lets one in after the other: two admins who remove each other at once would each see the other one stay. */
  readonly adminLock: Lock;
}

/** A new epoch: sessions of the former one are over (see auth/session). */
export function newSessionEpoch(): { readonly sessionEpoch: string } {
  return { sessionEpoch: randomBytes(9).toString("base64url") };
}

/** So many passwords are hashed in a second or two, while sign-ins wait for their turn between them. */
const MOST_PASSWORDS_AT_ONCE = 10;

/** Set while nobody has proved the address (see mongo/user-store). */
const UNPROVEN = "emailUnproven";

/** What a root admin is left with by a change, or by the deletion that null stands for. */
function leftOfAdmin(table: Table, change: FieldsChanged | null): "everything" | "providers" | "nothing" {
  if (change === null) return "nothing";
  const { set, unset } = change;
  if (set.get("isRootAdmin") === false || set.get("isActive") === false) return "nothing";
  return unset.includes(requireField(table, "password")) ? "providers" : "everything";
}

/** Of the table of users. */
export function makeUserHooks(deps: UserHooksDeps): TableHooks {
  const { hash, forgetUser, clearAway, emailOf, isRootAdmin, takeTurn, hasProvider, adminLock } = deps;
  return {
    ...NO_HOOKS,
    /** With its e-mail in the one spelling, so that it is checked as it will be stored. */
    prepare(body) {
      if (!isObject(body) || typeof body.email !== "string") return body;
      return { ...body, email: normalizeEmail(body.email) };
    },
    /** Of an address that is theirs, for example because an earlier version took it. */
    async tolerated(id, body) {
      const email = isObject(body) && typeof body.email === "string" ? body.email : undefined;
      if (email === undefined || emailProblem(email) === undefined) return {};
      return (await emailOf(String(id))) === email ? { email } : {};
    },
    /** Notes who has set an address: one that root wrote counts as proved; of any other nobody has proved yet whose it is. */
    plan(table, plan, isRoot) {
      if (!plan.own.set.has(requireField(table, "email"))) return plan;
      if (isRoot) return { ...plan, own: { ...plan.own, unset: [...plan.own.unset, UNPROVEN] } };
      const set = new Map<string, Stored>([...plan.own.set, [UNPROVEN, true]]);
      return { ...plan, own: { ...plan.own, set } };
    },
    /** Each password costs as much as a sign-in, and visitors may be allowed to make themselves users. */
    requireFew(bodies, isRoot) {
      const withPassword = bodies.filter((body) => isObject(body) && typeof body.password === "string");
      if (isRoot || withPassword.length <= MOST_PASSWORDS_AT_ONCE) return;
      const problem = `has ${withPassword.length} users with passwords, and only root admins make more than ${MOST_PASSWORDS_AT_ONCE} at once`;
      throw new AppError("VALIDATION_ERROR", { message: [`body: ${problem}`] });
    },
    marksOf: (table, field) => (field === requireField(table, "email") ? [UNPROVEN] : []),
    /**
     * Leaves out an address that is the user's already: forms send it along with everything else, so it neither has to be
     * proved once more nor is it proved by that. Whoever sets another one at this moment has the last word.
     */
    async withoutKnown(table, id, plan) {
      const { set, unset } = plan.own;
      const emailField = requireField(table, "email");
      const address = set.get(emailField);
      if (address === undefined || address !== (await emailOf(String(id)))) return plan;
      const isOther = (field: string): boolean => field !== emailField && field !== UNPROVEN;
      const others = new Map([...set].filter(([field]) => isOther(field)));
      return { ...plan, own: { ...plan.own, set: others, unset: unset.filter(isOther) } };
    },
    /** Keeps one active root admin who can sign in. */
    async changing(table, id, change, act) {
      const userId = String(id);
      const left = leftOfAdmin(table, change);
      if (left === "everything") return act({});
      // Whoever is none takes none away, so that nobody waits for the deletion of an ordinary user, however long that takes.
      if (!(await isRootAdmin(userId))) return act({ [requireField(table, "isRootAdmin")]: { $ne: true } });
      return adminLock(async (turn) => {
        const isSafe =
          (await takeTurn(userId, turn)) || (left === "providers" && (await hasProvider(userId)));
        if (isSafe) return act({ [TURN_FIELD]: turn });
        throw new AppError(
          "CONFLICT",
          "This would leave no active root admin who can sign in; make another user root admin first.",
        );
      });
    },
    deletesEach: true,
    // It may be somebody else's by now: whoever proves the address gets the account.
    staysOnceChanged: true,
    stored: (column, value) =>
      column.name === "password" && typeof value === "string" ? hash(value) : value,
    alongside(table, { set, unset }) {
      const passwordField = requireField(table, "password");
      const ends = set.has(passwordField) || unset.includes(passwordField) || set.get("isActive") === false;
      return ends ? newSessionEpoch() : {};
    },
    async afterWrite(ids) {
      for (const id of ids) {
        forgetUser(String(id));
        // Already worthless: what stays behind costs only space.
        await clearAway(String(id)).catch(() => undefined);
      }
    },
  };
}
