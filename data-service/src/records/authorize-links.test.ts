import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../catalog/build-catalog.js";
import { type Relation, targetOf } from "../catalog/catalog.js";
import { systemTables } from "../catalog/system-tables.js";
import { authorizeLinks } from "./authorize-links.js";
import type { CheckedBody } from "./check-body.js";

const catalog = buildCatalog(0, [], systemTables("svc_"));

/** A body that sets the role of a user. */
function bodyWithRole(): CheckedBody {
  const role = catalog.tables.get("svc_user")?.relations.get("role");
  if (role === undefined) throw new Error("users have a role");
  return { values: new Map(), links: [{ relation: role, target: targetOf(catalog, role), ids: [] }] };
}

describe("authorizeLinks", () => {
  it("lets a body pass whose relations lead to readable tables", () => {
    const body = bodyWithRole();
    expect(authorizeLinks(body, () => true)).toBe(body);
  });

  it("lets a body without links pass", () => {
    const body: CheckedBody = { values: new Map(), links: [] };
    expect(authorizeLinks(body, () => false)).toBe(body);
  });

  it("refuses a relation to an unreadable table like a field that does not exist", () => {
    const mayRead = ({ target }: Relation) => target !== "svc_role";
    expect(() => authorizeLinks(bodyWithRole(), mayRead)).toThrow(
      expect.objectContaining({ code: "VALIDATION_ERROR", messages: ["role: unknown field"] }),
    );
  });
});
