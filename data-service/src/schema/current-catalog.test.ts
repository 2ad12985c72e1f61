// When a process asks whether another instance has changed a table.
import { beforeEach, describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import type { Catalog } from "../catalog/catalog.js";
import { bareTable } from "../catalog/definition-fixture.js";
import { CurrentCatalog } from "./current-catalog.js";

/** The database as another instance may change it. */
let database: { version: number; tables: string[]; asked: string[] };
let now: number;
/** What happens in the moment when the tables are read. */
let whenLoading: () => void;

/** What a first look asks: whether the number is the same afterwards, too. */
const LOADED = ["version", "tables", "version"];
let catalogs: CurrentCatalog;

beforeEach(() => {
  database = { version: 1, tables: ["a"], asked: [] };
  now = 0;
  whenLoading = () => {};
  const source = {
    async state() {
      database.asked.push("version");
      return { version: database.version, changing: [] };
    },
    async load() {
      database.asked.push("tables");
      whenLoading();
      whenLoading = () => {};
      return database.tables.map((name) => bareTable(name));
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
    expect(database.asked).toEqual(LOADED);
  });

  it("asks for the version alone after a second, and loads nothing when it is the same", async () => {
    const first = await catalogs.get();
    now = 1_000;
    expect(await catalogs.get()).toBe(first);
    expect(database.asked).toEqual([...LOADED, "version"]);
  });

  it("is believed no longer because the clock is set back", async () => {
    await catalogs.get();
    now = -3_600_000;
    await catalogs.get();
    now += 1_000;
    await catalogs.get();
    expect(database.asked).toEqual([...LOADED, "version"]);
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

  it("never shows later tables than its number says: where that has grown meanwhile, it is loaded again", async () => {
    whenLoading = makeElsewhere;
    const catalog = await catalogs.get();
    expect([catalog.version, names(catalog)]).toEqual([3, ["a", "b"]]);
    expect(database.asked).toEqual([...LOADED, "tables", "version"]);
  });
});

describe("a decision", () => {
  it("that is no refusal is taken by the catalog at hand", async () => {
    await catalogs.get();
    makeElsewhere();
    expect(await catalogs.decide(need("a"))).toBe("a");
    expect(database.asked).toEqual(LOADED);
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
    expect(database.asked).toEqual(LOADED);
  });
});
