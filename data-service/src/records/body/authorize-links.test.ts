// Links of a body: which a caller may set, by what they may see at the other end. And that no write goes without asking:
// each line that the type checker must refuse is marked, and the build fails when it refuses one no longer.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import { type Table, targetOf } from "../../catalog/catalog.js";
import { systemTables } from "../../catalog/system-tables.js";
import { ReadView } from "../../permission/read-view.js";
import { ALWAYS, type AuthorizedPredicate, NEVER } from "../../query/ast.js";
import { type AuthorizedBody, authorizeLinks, withJudged } from "./authorize-links.js";
import type { CheckedBody } from "./check-body.js";
import type { AuthorizedLinks, JudgedLinks, LinkSet } from "./link-set.js";
import { type JudgedPlan, planColumns, planWrite } from "./write-plan.js";

const catalog = buildCatalog(0, [], systemTables("svc_"));
const users = catalog.tables.get("svc_user");
const name = catalog.tables.get("svc_role")?.columns.get("name");
if (users === undefined || name === undefined) throw new Error("users have roles with names");
const onlySome: AuthorizedPredicate = { kind: "test", column: name, test: { op: "eq", value: "editor" } };

/** The link of a body that sets the role of a user. */
function linkToRole(of: Table): LinkSet {
  const role = of.relations.get("role");
  if (role === undefined) throw new Error("users have a role");
  return { relation: role, target: targetOf(catalog, role), ids: [], there: ALWAYS };
}

const seeing = (rows: AuthorizedPredicate | undefined): ReadView =>
  new ReadView(catalog, () =>
    rows === undefined ? undefined : { rows, grants: [{ rows, members: () => true }] },
  );
const nothing = { ruleId: "r", presets: {} };
const toRole = linkToRole(users);
const checked: CheckedBody = { values: new Map(), links: [toRole] };

/** The link that a body sets, as it is authorized. */
function authorized(rows: AuthorizedPredicate | undefined, preset = nothing): AuthorizedLinks {
  const [link] = authorizeLinks(checked, seeing(rows), preset).links;
  if (link === undefined) throw new Error("the body has a link");
  return link;
}

describe("authorizeLinks", () => {
  it("notes which records the caller may see at the other end", () => {
    expect(authorized(onlySome)).toEqual({ ...toRole, visible: onlySome });
    expect(authorized(undefined).visible).toEqual(NEVER);
  });

  it("lets a body without links pass", () => {
    const body: CheckedBody = { values: new Map(), links: [] };
    expect(authorizeLinks(body, seeing(undefined), nothing)).toEqual(body);
  });

  it("lets a rule set a link that its subject can't see", () => {
    const link = authorized(undefined, { ruleId: "r", presets: { role: null } });
    expect(link).toEqual({ ...toRole, visible: ALWAYS, presetBy: "r" });
  });
});

describe("what can be planned", () => {
  it("is not a body that was checked and no more", () => {
    // @ts-expect-error Checked, not authorized.
    const body: AuthorizedBody = checked;
    // @ts-expect-error Records that somebody says the caller sees.
    const said: AuthorizedLinks = { ...toRole, visible: ALWAYS };
    // @ts-expect-error Others than the caller sees.
    const others: AuthorizedLinks = { ...authorized(onlySome), visible: ALWAYS };
    expect([body, said, others]).toHaveLength(3);
  });

  it("is a body of columns, without asking, and no other", () => {
    expect(planColumns({ values: new Map([[name, "editor"]]), links: [] }).own.set).toEqual(
      new Map([[name.field, "editor"]]),
    );
    expect(() => planColumns(checked)).toThrow('nobody has authorized the links of "role"');
  });
});

describe("what can be run", () => {
  it("is not a plan whose links nobody has judged", () => {
    const plan = planWrite(authorizeLinks(checked, seeing(ALWAYS), nothing));
    // @ts-expect-error Planned, not judged.
    const unjudged: JudgedPlan = plan;
    // @ts-expect-error Every record, as somebody says.
    const said: JudgedLinks = { ...authorized(ALWAYS), judged: "all" };
    expect([unjudged, said]).toHaveLength(2);
  });

  it("is a plan whose links were judged, and they say by what", () => {
    const links = withJudged(authorized(onlySome), { coming: [], leaving: [] });
    const plan: JudgedPlan = { ...planColumns({ values: new Map(), links: [] }), foreign: [links] };
    expect(plan.foreign).toEqual([{ ...authorized(onlySome), judged: { coming: [], leaving: [] } }]);
  });
});
