// Rights and tables of one moment, although tables may be changed at any time.
import { beforeEach, describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { bareTable } from "../catalog/definition-fixture.js";
import { loadRights } from "../permission/load-rights.js";
import { NamesChanged } from "../permission/rights.js";
import type { Rule } from "../permission/rule.js";
import { ANONYMOUS } from "../principal.js";
import { CurrentCatalog } from "../schema/current-catalog.js";
import { decideAs, standingNow } from "./decide-as.js";
import type { Standing } from "./request.js";

const RULE: Rule = {
  id: "r",
  roleId: null,
  table: "a",
  action: "read",
  filter: null,
  fields: null,
  presets: null,
  check: null,
};
const tables = { users: "svc_user", roles: "svc_role", permissions: "svc_permission", tables: "svc_table" };

/** The database as another instance may change it. */
let database: { version: number; tables: string[] };
/** What happens right after the next rights have been loaded, and so on. */
let meanwhile: (() => void)[];

beforeEach(() => {
  database = { version: 1, tables: ["a"] };
  meanwhile = [];
});

function makeElsewhere(): void {
  database.version += 1;
  database.tables.push(`made_${database.version}`);
}

function depsNow() {
  const clock = { now: () => new Date() };
  const latest = () => ({ id: String(database.version), isFollowed: true });
  const state = async () => ({ version: database.version, changing: [], change: latest() });
  const load = async () => database.tables.map((name) => bareTable(name));
  const catalogs = new CurrentCatalog({ state, load }, [], clock);
  const rules = {
    async of() {
      const { change } = await catalogs.get();
      meanwhile.shift()?.();
      return { rules: [RULE], readRulesOff: [], change: change?.id };
    },
  };
  const userRecord = async () => null;
  return { catalogs, rights: loadRights({ rules, userRecord, clock, tables }) };
}

/** Needs a table that has been made a moment ago, and what the caller may do. */
function need({ rights, catalog }: Standing): string[] {
  if (catalog.tables.size === 1) throw new AppError("NOT_FOUND");
  rights.requireNamesOf(catalog);
  return [...catalog.tables.keys()];
}

describe("what is decided by a caller's rights", () => {
  it("is decided anew where tables were changed behind the rights", async () => {
    meanwhile = [makeElsewhere];
    expect(await decideAs(depsNow(), ANONYMOUS, need)).toEqual(["a", "made_2"]);
  });

  it("is refused where they are changed behind these as well", async () => {
    meanwhile = [makeElsewhere, makeElsewhere];
    const newest = (standing: Standing) => {
      if (standing.catalog.version < database.version) throw new AppError("NOT_FOUND");
      return need(standing);
    };
    await expect(decideAs(depsNow(), ANONYMOUS, newest)).rejects.toBeInstanceOf(NamesChanged);
  });

  it("is refused for good by the latest tables, once", async () => {
    let asked = 0;
    const refuse = () => {
      asked += 1;
      throw new AppError("NOT_FOUND");
    };
    await expect(decideAs(depsNow(), ANONYMOUS, refuse)).rejects.toEqual(new AppError("NOT_FOUND"));
    expect(asked).toBe(1);
  });
});

describe("what a caller may do at this moment", () => {
  it("goes by the tables of this moment, a change of a moment ago included", async () => {
    const deps = depsNow();
    await deps.catalogs.get();
    makeElsewhere();
    const { rights, catalog } = await standingNow(deps, ANONYMOUS);
    expect([...catalog.tables.keys()]).toEqual(["a", "made_2"]);
    expect(() => rights.requireNamesOf(catalog)).not.toThrow();
  });
});
