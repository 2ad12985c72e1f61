// Links of a body: which a caller may set, by what they may see at the other end.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import { type Table, targetOf } from "../../catalog/catalog.js";
import { systemTables } from "../../catalog/system-tables.js";
import { ReadView } from "../../permission/read-view.js";
import { ALWAYS, type AuthorizedPredicate } from "../../query/ast.js";
import { authorizeLinks } from "./authorize-links.js";
import type { CheckedBody } from "./check-body.js";

const catalog = buildCatalog(0, [], systemTables("svc_"));
const users = catalog.tables.get("svc_user");
const name = catalog.tables.get("svc_role")?.columns.get("name");
if (users === undefined || name === undefined) throw new Error("users have roles with names");
const onlySome: AuthorizedPredicate = { kind: "test", column: name, test: { op: "eq", value: "editor" } };

/** A body that sets the role of a user. */
function bodyWithRole(of: Table): CheckedBody {
  const role = of.relations.get("role");
  if (role === undefined) throw new Error("users have a role");
  const link = { relation: role, target: targetOf(catalog, role), ids: [], visible: ALWAYS, there: ALWAYS };
  return { values: new Map(), links: [link] };
}

const seeing = (rows: AuthorizedPredicate | undefined): ReadView =>
  new ReadView(catalog, () =>
    rows === undefined ? undefined : { rows, grants: [{ rows, members: () => true }] },
  );
const nothing = new Set<string>();

describe("authorizeLinks", () => {
  it("lets a body pass whose relations lead to readable tables", () => {
    const body = bodyWithRole(users);
    expect(authorizeLinks(body, seeing(ALWAYS), nothing)).toEqual(body);
  });

  it("notes which records the caller may see at the other end", () => {
    const [link] = authorizeLinks(bodyWithRole(users), seeing(onlySome), nothing).links;
    expect(link?.visible).toBe(onlySome);
  });

  it("lets a body without links pass", () => {
    const body: CheckedBody = { values: new Map(), links: [] };
    expect(authorizeLinks(body, seeing(undefined), nothing)).toEqual(body);
  });

  it("lets a rule set a link that its subject can't see", () => {
    const body = bodyWithRole(users);
    const [link] = authorizeLinks(body, seeing(undefined), new Set(["role"])).links;
    expect(link).toEqual({ ...body.links[0], isPreset: true });
  });
});
