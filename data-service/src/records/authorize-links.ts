// Links of a checked body -> the same, once the caller may know the tables they lead to. Pure.
import { AppError } from "@portico/shared/app-error";
import type { Relation } from "../catalog/catalog.js";
import type { CheckedBody } from "./check-body.js";

/**
 * A relation to a table without read rights is an unknown field: else the answer would tell which ids exist there.
 * @throws AppError VALIDATION_ERROR naming each such relation
 */
export function authorizeLinks(body: CheckedBody, mayRead: (relation: Relation) => boolean): CheckedBody {
  const unknown = body.links.filter(({ relation }) => !mayRead(relation));
  if (unknown.length === 0) return body;
  throw new AppError("VALIDATION_ERROR", {
    message: unknown.map(({ relation }) => `${relation.name}: unknown field`),
  });
}
