// What writing a user means beyond its columns: passwords are hashed, e-mails normalised, the last admin stays.
import { AppError } from "@portico/shared/app-error";
import { normalizeEmail } from "../auth/email.js";
import type { Column, Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { isObject, type Json } from "../json.js";

export interface UserHooksDeps {
  /** Name of the users' table. */
  readonly table: string;
  readonly hash: (password: string) => Promise<string>;
  /** Forgets what is cached about a user, so that a change holds at once. */
  readonly forgetUser: (userId: string) => void;
  /** Active root admins other than this user. */
  readonly otherRootAdmins: (userId: string) => Promise<number>;
}

export interface UserHooks {
  /** The body with its e-mail in the one spelling, so that it is checked as it will be stored. */
  prepare(table: Table, body: Json): Json;
  /** The value to store for a column's checked value. */
  transform(table: Table, column: Column, value: Stored): Promise<Stored>;
  /** @throws AppError 409 when the change would leave no active root admin. @param change null = delete */
  beforeChange(table: Table, id: Stored, change: ReadonlyMap<string, Stored> | null): Promise<void>;
  afterChange(table: Table, id: Stored): void;
}

export function makeUserHooks({ table: users, hash, forgetUser, otherRootAdmins }: UserHooksDeps): UserHooks {
  return {
    prepare(table, body) {
      if (table.name !== users || !isObject(body) || typeof body.email !== "string") return body;
      return { ...body, email: normalizeEmail(body.email) };
    },
    async transform(table, column, value) {
      const isPassword = table.name === users && column.name === "password";
      return isPassword && typeof value === "string" ? hash(value) : value;
    },
    async beforeChange(table, id, change) {
      if (table.name !== users) return;
      const keeps =
        change !== null && change.get("isRootAdmin") !== false && change.get("isActive") !== false;
      if (keeps || (await otherRootAdmins(String(id))) > 0) return;
      throw new AppError(
        "CONFLICT",
        "This would leave no active root admin; make another user root admin first.",
      );
    },
    afterChange(table, id) {
      if (table.name === users) forgetUser(String(id));
    },
  };
}
