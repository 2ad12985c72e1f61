// The routes of rules (records/rule-hooks, records/permission-routes), described. Pure.
import {
  dataAnswer,
  FORWARDED,
  GIVEN_ID,
  type Operation,
  object,
  type Part,
  TEXT,
} from "@portico/shared/operation";
import { ACTIONS } from "../../permission/rule.js";

const QUESTION = object(
  {
    user: GIVEN_ID,
    role: { ...GIVEN_ID, type: ["string", "null"] },
    table: TEXT,
    action: { enum: [...ACTIONS] },
    id: { type: ["string", "integer"] },
  },
  ["table", "action"],
);

/**
 * The operations of rules: what every table has, with a rule in the body that can be saved.
 * @param of operations of the table
 * @param table one that rules can be about
 */
export function ruleOperations(
  permissions: string,
  of: readonly Operation[],
  table: string,
): readonly Operation[] {
  const examples: Readonly<Record<string, Part>> = {
    [`create_${permissions}`]: { role: null, table, action: "read", fields: "id" },
    [`update_${permissions}`]: { isEnabled: false },
    [`changeMany_${permissions}`]: { isEnabled: false },
  };
  return of.map((operation) => {
    const example = examples[operation.id];
    return example === undefined ? operation : { ...operation, body: { ...operation.body, example } };
  });
}

/** @param permissions name of the table of permissions */
export function permissionOperations(permissions: string): readonly Operation[] {
  return [
    {
      method: "post",
      path: `/${permissions}/explain`,
      id: "explainPermission",
      tag: permissions,
      for: "root",
      summary: "Why somebody may, or may not, do something",
      description: "Give a user or a role; role null stands for everyone.",
      body: { schema: QUESTION, example: { role: null, table: "posts", action: "read" } },
      answers: { 200: dataAnswer(200, "The rules, and what they come to.", { type: "object" }) },
      refusals: [...FORWARDED, 403, 404],
    },
  ];
}
