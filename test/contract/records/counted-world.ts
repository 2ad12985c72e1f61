// Tables with counted relations of every kind, writers that change them at random, and the one question afterwards:
// is every number what counting gives?
import { type Api, search } from "../../support/api.js";
import type { Row } from "./make.js";

/** Houses and cats: to-one twice, to-many, and a table that links to itself. */
export async function countedTables(api: Api): Promise<void> {
  await api.post("/svc_table", {
    name: "houses",
    idType: "int",
    columns: [{ name: "street", type: "string" }],
  });
  const counted = { counted: true };
  const { status, body } = await api.post("/svc_table", {
    name: "cats",
    idType: "int",
    columns: [{ name: "name", type: "string", unique: true }],
    relations: [
      {
        name: "home",
        type: "many-to-one",
        table: "houses",
        inverse: "cats",
        onDelete: "CASCADE",
        ...counted,
      },
      { name: "birthplace", type: "many-to-one", table: "houses", inverse: "born", ...counted },
      { name: "visits", type: "many-to-many", table: "houses", inverse: "visitors", ...counted },
      { name: "mother", type: "many-to-one", table: "cats", inverse: "kittens", ...counted },
    ],
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
}

const RELATIONS = [
  ["houses", "cats", "home"],
  ["houses", "born", "birthplace"],
  ["houses", "visitors", "visits"],
  ["cats", "kittens", "mother"],
] as const;

/** Every parent whose number is not what its children's own links say. */
export async function differences(api: Api): Promise<string[]> {
  const found: string[] = [];
  for (const [parents, many, one] of RELATIONS) {
    const counted = await countsOf(api, parents, many);
    const links = await linksOf(api, one);
    for (const [id, count] of counted) {
      const real = links.filter((link) => link === id).length;
      if (real !== count) found.push(`${parents}/${id}.${many}: ${count} instead of ${real}`);
    }
  }
  return found;
}

async function countsOf(api: Api, parents: string, many: string): Promise<[number, number][]> {
  const { body } = await api.get(`/${parents}`, { fields: "id", limit: "0" });
  return Promise.all(
    body.data.map(async ({ id }: Row) => {
      const query = { filter: { id }, fields: "id", aggregate: { [many]: { count: true } } };
      const { status, body: one } = await api.get(`/${parents}`, query);
      if (status !== 200) throw new Error(`${status}: ${JSON.stringify(one)}`);
      return [id, one.meta.aggregate[many].count];
    }),
  );
}

async function linksOf(api: Api, one: string): Promise<number[]> {
  const { body } = await api.get("/cats", {
    fields: "id",
    deep: { [one]: one === "visits" ? { limit: 0 } : {} },
    limit: "0",
  });
  return body.data.flatMap((cat: Row) =>
    [cat[one]].flat().flatMap((link: Row) => (link === null ? [] : [link.id])),
  );
}

/** Small steps of a fixed sequence, so that a failing seed can be run again. */
function dice(seed: number): (sides: number) => number {
  let state = (seed + 1) * 2_654_435_761;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % sides;
  };
}

/** Changes cats and houses in every way that changes links. Answers that refuse are as good as any. */
export async function randomWrites(
  api: Api,
  houses: readonly number[],
  steps: number,
  seed: number,
): Promise<void> {
  const roll = dice(seed);
  const cats: number[] = [];
  const house = (): number | null => (roll(5) === 0 ? null : (houses[roll(houses.length)] ?? null));
  const some = (): number[] => cats.filter(() => roll(3) === 0);
  const cat = (): Row => ({ home: house(), birthplace: house(), visits: houses.filter(() => roll(2) === 0) });
  const keep = (row: Row | undefined): void => void (row === undefined || cats.push(row.id));
  for (let step = 0; step < steps; step += 1) {
    const chosen = cats[roll(Math.max(1, cats.length))] ?? 0;
    const kind = roll(8);
    if (kind < 2) keep((await api.post("/cats", cat())).body?.data?.[0]);
    else if (kind === 2) (await api.post("/cats", [cat(), cat(), cat()])).body?.data?.forEach(keep);
    else if (kind === 3) await api.patch(`/cats/${chosen}`, { ...cat(), mother: some()[0] ?? null });
    else if (kind === 4) await api.patch(`/houses/${houses[roll(houses.length)]}`, { cats: some() });
    else if (kind === 5)
      await api.patch(`/houses/${houses[roll(houses.length)]}`, { visitors: some(), born: some() });
    else if (kind === 6) await api.delete(`/cats/${chosen}`);
    else
      await api.post(`/cats${search({ fields: "id" })}`, [
        { name: `a${seed}` },
        { ...cat(), name: `a${seed}` },
      ]);
  }
}
