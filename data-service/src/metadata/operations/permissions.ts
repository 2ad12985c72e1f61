// POST /svc_permission/explain (records/permission-routes), described. Pure.
import { dataAnswer, FORWARDED, OBJECT_ID, type Operation, object, TEXT } from "@portico/shared/operation";
import { ACTIONS } from "../../permission/rule.js";

const QUESTION = object(
  {
    user: OBJECT_ID,
    role: { ...OBJECT_ID, type: ["string", "null"] },
    table: TEXT,
    action: { enum: [...ACTIONS] },
    id: { type: ["string", "integer"] },
  },
  ["table", "action"],
);

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
