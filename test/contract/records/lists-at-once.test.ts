// Several requests that each add a new record to one list at the same moment: with one version exactly one of them succeeds,
// without a version nobody is told to let go of what others are adding.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, type Row, read, tally } from "./make.js";

const ROUNDS = Number(process.env.PORTICO_RACE_ROUNDS ?? 4);
const LONG = 600_000;

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  const columns = [{ name: "name", type: "string" }];
  const to = (table: string, more: object = {}) => [
    { name: "of", type: "many-to-one", table, inverse: "lines", onDelete: "CASCADE", ...more },
  ];
  for (const name of ["orders", "carts"]) await makeTable(admin, { name, columns });
  await makeTable(admin, { name: "lines", columns, relations: to("orders", { required: true }) });
  await makeTable(admin, { name: "wishes", columns, relations: to("carts") });
  // Something hangs on both, so that deletes mark what they take.
  for (const table of ["lines", "wishes"]) {
    const of = { name: "of", type: "many-to-one", table, onDelete: "CASCADE" };
    await makeTable(admin, { name: `notes_of_${table}`, columns, relations: [of] });
  }
}, 180_000);

afterAll(() => stack?.stop());

interface Family {
  readonly parents: string;
  readonly children: string;
}

/** A parent with one child, and what so many answer who each add another one, knowing of the first alone. */
async function addedAtOnce(
  { parents, children }: Family,
  count: number,
  headersOf: (etag: string) => Record<string, string>,
): Promise<{ readonly answers: readonly Answer[]; readonly names: readonly string[] }> {
  const { id } = await make(admin, parents, { name: "P" });
  const child = (await make(admin, children, { name: "first", of: id })).id;
  const etag = (await admin.get(`/${parents}/${id}`)).headers.get("etag") ?? "none";
  const answers = await atOnce(count, (at) =>
    admin.send("PATCH", `/${parents}/${id}`, {
      headers: { "Content-Type": "application/json", ...headersOf(etag) },
      body: JSON.stringify({ lines: [child, { name: `${at}` }] }),
    }),
  );
  const { lines } = await read(admin, parents, id, "lines.name");
  const { body } = await admin.get(`/${children}`, {
    filter: { name: { _neq: "first" }, of: id },
    limit: "0",
  });
  expect(body.data).toHaveLength(lines.length - 1);
  return { answers, names: lines.map(({ name }: Row) => name).toSorted() };
}

describe.each<[string, Family]>([
  ["whose link is required", { parents: "orders", children: "lines" }],
  ["whose link is not required", { parents: "carts", children: "wishes" }],
])("new records of one list %s", (_what, family) => {
  it.each([2, 3, 5, 8])(
    "are added by exactly one of %i who know the same version",
    async (count) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { answers, names } = await addedAtOnce(family, count, (etag) => ({ "If-Match": etag }));
        expect(tally(answers)).toEqual({ 200: 1, 412: count - 1 });
        const winner = answers.findIndex(({ status }) => status === 200);
        expect(names).toEqual([`${winner}`, "first"]);
      }
    },
    LONG,
  );

  it.each([2, 3, 5, 8])(
    "are added by each of %i who name no version",
    async (count) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { answers } = await addedAtOnce(family, count, () => ({}));
        expect([tally(answers), answers.map(({ body }) => body.message)]).toEqual([
          { 200: count },
          answers.map(() => "Success"),
        ]);
      }
    },
    LONG,
  );
});
