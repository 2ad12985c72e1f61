// Look-ups by id in the same turn of the event loop are one query.
import { describe, expect, it } from "@jest/globals";
import { Decimal128, MongoNetworkError } from "mongodb";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import { mixedIdText } from "../catalog/mixed-id.js";
import type { Stored } from "../catalog/stored.js";
import { systemTables } from "../catalog/system-tables.js";
import { GatheredReads } from "./gathered-reads.js";

const NAME = { _id: 1, name: 1 };

type Asked = (readonly Stored[])[];

function tableNamed(name: string): Table {
  const found = buildCatalog(0, [], systemTables("svc_")).tables.get(name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
}

/** Documents with every id below 1,000, and the ids that were asked for together. */
function gathering(): { reads: GatheredReads; asked: Asked } {
  const asked: Asked = [];
  const find = async (_table: Table, ids: readonly Stored[]) => {
    asked.push(ids);
    if (ids.includes("away")) throw new MongoNetworkError("away");
    if (ids.includes("broken")) throw new Error("broken");
    return ids.filter((id) => Number(id) < 1_000).map((_id) => ({ _id }));
  };
  return { reads: new GatheredReads(find, (_table, id) => String(id)), asked };
}

describe("documents asked for by id", () => {
  it("are found with one query, when they are asked for in the same turn", async () => {
    const { reads, asked } = gathering();
    const table = tableNamed("svc_user");
    const answers = [["1"], ["2", "3"], ["1"], ["4000"], []].map((ids) => reads.read(table, ids, NAME));
    expect(await Promise.all(answers)).toEqual([
      [{ _id: "1" }],
      [{ _id: "2" }, { _id: "3" }],
      [{ _id: "1" }],
      [],
      [],
    ]);
    expect(asked).toEqual([["1", "2", "3", "4000"]]);
  });

  it("are found anew in the next turn", async () => {
    const { reads, asked } = gathering();
    for (const id of ["1", "1"]) await reads.read(tableNamed("svc_user"), [id], NAME);
    expect(asked).toEqual([["1"], ["1"]]);
  });

  it("are found apart for other tables and other fields", async () => {
    const { reads, asked } = gathering();
    const [users, roles] = [tableNamed("svc_user"), tableNamed("svc_role")];
    const all = [
      reads.read(users, ["1"], NAME),
      reads.read(roles, ["2"], NAME),
      reads.read(users, ["3"], {}),
    ];
    await Promise.all(all);
    expect(asked).toEqual([["1"], ["2"], ["3"]]);
  });

  it("are asked for alone, when only the database knows whose they are", async () => {
    const [five, one] = [{ _id: Decimal128.fromString("5") }, { _id: 1 }];
    const asked: Asked = [];
    const find = async (_table: Table, ids: readonly Stored[]) => {
      asked.push(ids);
      return [...(ids.includes(5) ? [five] : []), ...(ids.includes(1) ? [one] : [])];
    };
    const reads = new GatheredReads(find, (_table, id) => String(mixedIdText(id)));
    const answers = [[5], [1], [6]].map((ids) => reads.read(tableNamed("svc_user"), ids, NAME));
    expect(await Promise.all(answers)).toEqual([[five], [one], []]);
    expect(asked).toEqual([[5, 1, 6], [5], [6]]);
  });

  it("are refused to those alone who ask for one that can't be decoded", async () => {
    const { reads } = gathering();
    const table = tableNamed("svc_user");
    const answers = await Promise.allSettled(
      [["1"], ["broken"], ["2"]].map((ids) => reads.read(table, ids, NAME)),
    );
    expect(answers).toMatchObject([
      { value: [{ _id: "1" }] },
      { reason: { message: "broken" } },
      { value: [{ _id: "2" }] },
    ]);
  });

  it("are refused to all who share a query while the database is away, and to nobody after it", async () => {
    const { reads } = gathering();
    const table = tableNamed("svc_user");
    const answers = await Promise.allSettled([
      reads.read(table, ["1"], NAME),
      reads.read(table, ["away"], NAME),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await reads.read(table, ["1"], NAME)).toEqual([{ _id: "1" }]);
  });

  it("have a query of their own when they are many", async () => {
    const { reads, asked } = gathering();
    const many = Array.from({ length: 150 }, (_, at) => String(at));
    const answers = await Promise.all([
      reads.read(tableNamed("svc_user"), many, NAME),
      reads.read(tableNamed("svc_user"), ["1"], NAME),
    ]);
    expect(answers.map((found) => found?.length)).toEqual([150, 1]);
    expect(asked).toEqual([many, ["1"]]);
  });
});
