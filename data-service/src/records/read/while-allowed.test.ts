// An answer that is short ends like a long one: only if its caller may still read what it began with.
import { describe, expect, it } from "@jest/globals";
import type { Catalog } from "../../catalog/catalog.js";
import { LastingCaller } from "../../lasting-caller.js";
import { Rights } from "../../permission/rights.js";
import type { Rule } from "../../permission/rule.js";
import { ANONYMOUS } from "../../principal.js";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { catalog, catalogOf, rootView, table } from "../../query/library-fixture.js";
import { whileAllowed } from "./while-allowed.js";

const RULE: Rule = {
  id: "r",
  roleId: null,
  table: "books",
  action: "read",
  filter: null,
  fields: null,
  presets: null,
  check: null,
};

const rightsBy = (...rules: readonly Partial<Rule>[]): Rights =>
  new Rights({
    principal: ANONYMOUS,
    roleId: null,
    rules: rules.map((parts) => ({ ...RULE, ...parts })),
    user: null,
    now: new Date(),
    tables: { users: "svc_user", roles: "svc_role", permissions: "svc_permission", tables: "svc_table" },
    maxDepth: 7,
  });

const query = bindQuery({ filterFromText: false }, table("books"), rootView, {
  maxDepth: 7,
  maxLimit: undefined,
});
const shown = authorizeRead(query, rootView);

/** Two parts of an answer that shows deleted records as well, read by someone whose rights, or tables, are others at its end. */
async function read(before: Rights, after: Rights, then = catalog): Promise<number[]> {
  const source = async function* () {
    yield* [1, 2];
  };
  const deps = {
    rights: async () => after,
    catalogs: { get: async () => then, refresh: async () => then },
  };
  const began = { rights: before, actions: ["read", "delete"] as const, shown };
  const caller = new LastingCaller(ANONYMOUS, async () => ANONYMOUS);
  const answer = whileAllowed(deps, caller, began, source());
  const parts: number[] = [];
  for await (const part of answer) parts.push(part);
  return parts;
}

describe("an answer that ends within a moment", () => {
  it("is whole when its caller reads as before", async () => {
    expect(await read(rightsBy({}), rightsBy({}, { action: "update" }))).toEqual([1, 2]);
  });

  it.each<[when: string, after: Rights, then: Catalog]>([
    ["less may be read", rightsBy({ fields: "title" }, { action: "delete" }), catalog],
    ["the deleted records in it may be deleted no more", rightsBy({}), catalog],
    ["its table has gone", rightsBy({}, { action: "delete" }), catalogOf([])],
  ])("fails at its end, to be asked again, when %s by then", async (_when, after, then) => {
    const refusal = {
      code: "SERVICE_UNAVAILABLE",
      message: expect.stringContaining("ask again"),
      headers: { "Retry-After": "1" },
    };
    await expect(read(rightsBy({}, { action: "delete" }), after, then)).rejects.toMatchObject(refusal);
  });
});
