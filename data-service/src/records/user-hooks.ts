// What writing a user means beyond its columns: passwords are hashed, e-mails normalised, the last admin stays,
// and a new password or a deactivation ends the user's sessions.
import { randomBytes } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json } from "@portico/shared/json";
import { normalizeEmail } from "../auth/email.js";
import { type Column, requireField, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { TURN_FIELD } from "../catalog/own-fields.js";
import type { Lock } from "../mongo/lock.js";
import type { Document } from "../query/lower/document.js";
import type { WritePlan } from "./body/write-plan.js";

export interface UserHooksDeps {
  /** Name of the users' table. */
  readonly table: string;
  readonly hash: (password: string) => Promise<string>;
  /** Forgets what is cached about a user, so that a change holds at once. */
  readonly forgetUser: (userId: string) => void;
  /** Clears away what a change or the deletion of the user has made worthless: sessions, and the tokens of a deleted user. */
  readonly clearAway: (userId: string) => Promise<void>;
  /** Puts a turn into the record of this user and of every root admin. @returns how many other active ones there are */
  readonly takeTurn: (userId: string, turn: string) => Promise<number>;
  /** The user's address. */
  readonly emailOf: (userId: string) => Promise<string | undefined>;
  /** Lets one in after the other: two admins who remove each other at once would each see the other one stay. */
  readonly adminLock: Lock;
}

export interface UserHooks {
  /** Are the records of this table users? */
  areUsers(table: Table): boolean;
  /** The body with its e-mail in the one spelling, so that it is checked as it will be stored. */
  prepare(table: Table, body: Json): Json;
  /** The value to store for a column's checked value. */
  transform(table: Table, column: Column, value: Stored): Promise<Stored>;
  /** Notes who has set an address: one that root wrote counts as proved; of any other nobody has proved yet whose it is. */
  markAddress(table: Table, plan: WritePlan, isRoot: boolean): WritePlan;
  /**
   * Leaves out an address that is the user's already: forms send it along with everything else, so it neither has to be
   * proved once more nor is it proved by that. Whoever sets another one at this moment has the last word.
   */
  withoutKnown<Plan extends WritePlan>(table: Table, id: Stored, plan: Plan): Promise<Plan>;
  /**
   * Runs the change of a record.
   * @param change null = delete
   * @param act makes it while the record satisfies what it is given
   * @throws AppError 409 when it would leave no active root admin
   */
  changing<Result>(
    table: Table,
    id: Stored,
    change: ReadonlyMap<string, unknown> | null,
    act: (condition: Document) => Promise<Result>,
  ): Promise<Result>;
  /** Fields to write together with the change (a new session epoch). */
  alongside(table: Table, change: UserChange): Readonly<Record<string, Stored>>;
  afterChange(table: Table, id: Stored): Promise<void>;
}

/** What a change stores, by storage field. */
export interface UserChange {
  readonly set: ReadonlyMap<string, Stored>;
  readonly unset: readonly string[];
}

/** A new epoch: sessions of the former one are over (see auth/session). */
export function newSessionEpoch(): { readonly sessionEpoch: string } {
  return { sessionEpoch: randomBytes(9).toString("base64url") };
}

/** Set while nobody has proved the address (see mongo/user-store). */
const UNPROVEN = "emailUnproven";

export function makeUserHooks(deps: UserHooksDeps): UserHooks {
  const { table: users, hash, forgetUser, clearAway, emailOf, takeTurn, adminLock } = deps;
  return {
    areUsers: (table) => table.name === users,
    prepare(table, body) {
      if (table.name !== users || !isObject(body) || typeof body.email !== "string") return body;
      return { ...body, email: normalizeEmail(body.email) };
    },
    async transform(table, column, value) {
      const isPassword = table.name === users && column.name === "password";
      return isPassword && typeof value === "string" ? hash(value) : value;
    },
    markAddress(table, plan, isRoot) {
      if (table.name !== users || !plan.own.set.has(requireField(table, "email"))) return plan;
      if (isRoot) return { ...plan, own: { ...plan.own, unset: [...plan.own.unset, UNPROVEN] } };
      const set = new Map<string, Stored>([...plan.own.set, [UNPROVEN, true]]);
      return { ...plan, own: { ...plan.own, set } };
    },
    async withoutKnown(table, id, plan) {
      if (table.name !== users) return plan;
      const { set, unset } = plan.own;
      const emailField = requireField(table, "email");
      const address = set.get(emailField);
      if (address === undefined || address !== (await emailOf(String(id)))) return plan;
      const isOther = (field: string): boolean => field !== emailField && field !== UNPROVEN;
      const others = new Map([...set].filter(([field]) => isOther(field)));
      return { ...plan, own: { ...plan.own, set: others, unset: unset.filter(isOther) } };
    },
    async changing(table, id, change, act) {
      if (table.name !== users) return act({});
      const keeps =
        change !== null && change.get("isRootAdmin") !== false && change.get("isActive") !== false;
      if (keeps) return act({});
      return adminLock(async (turn) => {
        if ((await takeTurn(String(id), turn)) > 0) return act({ [TURN_FIELD]: turn });
        throw new AppError(
          "CONFLICT",
          "This would leave no active root admin; make another user root admin first.",
        );
      });
    },
    alongside(table, { set, unset }) {
      if (table.name !== users) return {};
      const passwordField = requireField(table, "password");
      const ends = set.has(passwordField) || unset.includes(passwordField) || set.get("isActive") === false;
      return ends ? newSessionEpoch() : {};
    },
    async afterChange(table, id) {
      if (table.name !== users) return;
      forgetUser(String(id));
      // Already worthless: what stays behind costs only space.
      await clearAway(String(id)).catch(() => undefined);
    },
  };
}
