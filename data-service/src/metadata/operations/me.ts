// The routes of the signed-in user (me/routes, identity/routes, /me/permissions), described. Pure.
import {
  answer,
  dataAnswer,
  FLAG,
  FORWARDED,
  inPath,
  LIST_OF_TEXT,
  type Operation,
  object,
  type Part,
  TEXT,
  TEXT_OR_NULL,
  TIME,
} from "@portico/shared/operation";
import type { Column, Table } from "../../catalog/catalog.js";
import { FOR_ROOT } from "../../catalog/system-tables.js";
import { givenSchema, nullable, withRules } from "../column-schema.js";
import { parameter, ref } from "../common-parts.js";
import { ROWS } from "../metadata.js";
import { ETAG, IF_MATCH } from "./records.js";

const ME = "Me";
const SHAPE: readonly Part[] = [parameter("fields"), parameter("deep")];

const PERMISSIONS = object(
  {
    table: TEXT,
    read: object({ rows: ROWS, fields: LIST_OF_TEXT, comparable: LIST_OF_TEXT }),
    create: object({ fields: LIST_OF_TEXT }),
    update: object({ rows: ROWS, fields: LIST_OF_TEXT }),
    delete: object({ rows: ROWS }),
  },
  ["table"],
);
const SESSION = object({
  id: TEXT,
  createdAt: TIME,
  lastUsedAt: TIME,
  expiresAt: TIME,
  userAgent: TEXT_OR_NULL,
  address: TEXT_OR_NULL,
  origin: TEXT_OR_NULL,
  loginProvider: TEXT_OR_NULL,
  current: FLAG,
});
const ACCOUNT = object({
  id: TEXT,
  provider: TEXT,
  email: TEXT_OR_NULL,
  origin: TEXT_OR_NULL,
  createdAt: TIME,
});

/** @param users the table of users */
export function meOperations(users: Table): readonly Operation[] {
  const me = ref(`${users.name}.own`);
  return [
    {
      method: "get",
      path: "/me",
      id: "getMe",
      tag: ME,
      for: "user",
      summary: "The signed-in user",
      parameters: [...SHAPE, parameter("IfNoneMatch")],
      answers: {
        200: { ...dataAnswer(200, "One record.", me), headers: ETAG },
        304: { description: "The answer would be the same as before.", headers: ETAG },
      },
      refusals: [...FORWARDED, 403, 404],
    },
    {
      method: "patch",
      path: "/me",
      id: "changeMe",
      tag: ME,
      for: "user",
      summary: "Change one's own columns or password",
      description: "A new `password` needs the `currentPassword`, and ends the user's other sessions.",
      parameters: [...SHAPE, IF_MATCH],
      body: { schema: ownChange(users), example: { name: "Ann" } },
      answers: { 200: { ...dataAnswer(200, "The record as it is now.", me), headers: ETAG } },
      refusals: [...FORWARDED, 403, 404, 409, 412],
    },
    {
      method: "get",
      path: "/me/permissions",
      id: "getPermissions",
      tag: ME,
      for: "anyone",
      summary: "What one may do, table by table",
      answers: { 200: dataAnswer(200, "Tables that one may do nothing with are missing.", PERMISSIONS) },
      refusals: FORWARDED,
    },
    {
      method: "get",
      path: "/me/sessions",
      id: "getSessions",
      tag: ME,
      for: "session",
      summary: "One's own sessions",
      answers: { 200: dataAnswer(200, "The last used first.", SESSION) },
      refusals: [...FORWARDED, 403],
    },
    {
      method: "delete",
      path: "/me/sessions/{id}",
      id: "endSession",
      tag: ME,
      for: "session",
      summary: "End one of one's own sessions",
      parameters: [inPath("id", TEXT, "The session's id.")],
      answers: { 200: answer(200, "It is gone.") },
      refusals: [...FORWARDED, 403, 404],
    },
    {
      method: "get",
      path: "/me/oauth-accounts",
      id: "getOAuthAccounts",
      tag: ME,
      for: "session",
      summary: "The providers one has connected",
      answers: { 200: dataAnswer(200, "Connected accounts.", ACCOUNT) },
      refusals: [...FORWARDED, 403],
    },
    {
      method: "delete",
      path: "/me/oauth-accounts/{id}",
      id: "unlinkProvider",
      tag: ME,
      for: "session",
      summary: "Disconnect a provider",
      description: "409 for the last way to sign in.",
      parameters: [inPath("id", TEXT, "The connected account's id.")],
      answers: { 200: answer(200, "Disconnected.") },
      refusals: [...FORWARDED, 403, 404, 409],
    },
  ];
}

function ownChange(users: Table): Part {
  const isOwn = ({ name, generated, hidden, readOnly }: Column): boolean =>
    !generated && !hidden && !readOnly && !FOR_ROOT.includes(name);
  const columns = [...users.columns.values()].filter(isOwn).map((column): [string, Part] => {
    const schema = withRules(givenSchema(column), column);
    return [column.name, column.required || column.secret ? schema : nullable(schema)];
  });
  return object({ ...Object.fromEntries(columns), currentPassword: TEXT });
}
