import { beforeEach, describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import type { Catalog } from "../catalog/catalog.js";
import type { TableDefinition } from "../catalog/definition.js";
import { CurrentCatalog } from "./current-catalog.js";

const table = (name: string): TableDefinition => ({
  ...{ id: name, name, description: null, singleton: false, idType: "objectId" },
  ...{ columns: [], relations: [], uniques: [], indexes: [], storage: { collection: name, fields: {} } },
});

/** The database as another instance may change it. */
let database: { version: number; tables: string[]; asked: string[] };
let now: number;
let catalogs: CurrentCatalog;

beforeEach(() => {
  database = { version: 1, tables: ["a"], asked: [] };
  now = 0;
  const source = {
    async state() {
      database.asked.push("version");
      return { version: database.version, changing: [] };
    },
    async load() {
      database.asked.push("tables");
      return database.tables.map(table);
    },
  };
  catalogs = new CurrentCatalog(source, [], { now: () => new Date(now) });
});

const names = ({ tables }: Catalog) => [...tables.keys()];

/** Another instance makes the table `b`. */
function makeElsewhere(): void {
  database.tables.push("b");
  database.version += 2;
}

function need(name: string) {
  return (catalog: Catalog) => {
    if (!catalog.tables.has(name)) throw new AppError("NOT_FOUND");
    return name;
  };
}

describe("the current catalog", () => {
  it("is loaded at the first question and believed for a second", async () => {
    expect(names(await catalogs.get())).toEqual(["a"]);
    now = 999;
    await catalogs.get();
    expect(database.asked).toEqual(["version", "tables"]);
  });

  it("asks for the version alone after a second, and loads nothing when it is the same", async () => {
    const first = await catalogs.get();
    now = 1_000;
    expect(await catalogs.get()).toBe(first);
    expect(database.asked).toEqual(["version", "tables", "version"]);
  });

  it("is loaded anew when another instance has changed a table", async () => {
    await catalogs.get();
    makeElsewhere();
    now = 1_000;
    expect(names(await catalogs.get())).toEqual(["a", "b"]);
  });

  it("is made sure of at once on refresh", async () => {
    await catalogs.get();
    makeElsewhere();
    expect(names(await catalogs.refresh())).toEqual(["a", "b"]);
  });

  it("reads the version before the tables, so that a change in between is found at the next check", async () => {
    await catalogs.get();
    expect(database.asked).toEqual(["version", "tables"]);
  });
});

describe("a decision", () => {
  it("that is no refusal is taken by the catalog at hand", async () => {
    await catalogs.get();
    makeElsewhere();
    expect(await catalogs.decide(need("a"))).toBe("a");
    expect(database.asked).toEqual(["version", "tables"]);
  });

  it("that is a refusal is taken again by a newer catalog", async () => {
    await catalogs.get();
    makeElsewhere();
    expect(await catalogs.decide(need("b"))).toBe("b");
  });

  it("stays a refusal when there is no newer catalog, and is not taken twice", async () => {
    let taken = 0;
    const refusing = catalogs.decide((catalog) => {
      taken += 1;
      return need("b")(catalog);
    });
    await expect(refusing).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(taken).toBe(1);
  });

  it("that fails otherwise is not taken again", async () => {
    await catalogs.get();
    makeElsewhere();
    const failing = catalogs.decide(() => {
      throw new TypeError("a mistake");
    });
    await expect(failing).rejects.toThrow(TypeError);
    expect(database.asked).toEqual(["version", "tables"]);
  });
});
