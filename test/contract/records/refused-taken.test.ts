// A change that is refused half-way, and of which others have taken a former unique value meanwhile: that value stays theirs,
// the record keeps the new one with all that is said of it, and the rest goes back.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import { type Answer, type Api, signIn } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { afterWrites, isReadOf, isWriteOf, stopAt } from "../../support/command-proxy.js";
import { roleFor } from "../../support/rules.js";
import { make, makeTable, type Row, read, valuesOf } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held } = system);
  const unique = (name: string) => ({ name, type: "string", unique: true, searchable: true });
  const part = (name: string) => ({ name, type: "string" });
  await makeTable(api, { name: "tags", columns: [part("name")] });
  await makeTable(api, {
    name: "posts",
    columns: [unique("slug"), unique("code"), part("title"), part("series"), part("part")],
    uniques: [["series", "part"]],
    relations: [{ name: "tag", type: "many-to-one", table: "tags" }],
  });
  const user = { name: "user", type: "one-to-one", table: "svc_user", inverse: "profile" };
  await makeTable(api, { name: "profiles", columns: [], relations: [user] });
});

afterAll(() => system?.stop());

beforeEach(() => held.proxy.decide(() => "pass"));

/** Refuses a change half-way, as what it links to is deleted when it has written. @param act done in between */
async function refuse(
  by: Api,
  path: readonly [table: string, id: string],
  body: object,
  link: readonly [name: string, table: string],
  act: () => Promise<unknown>,
): Promise<void> {
  const [[table, id], [name, target]] = [path, link];
  const linked = (await make(api, target, {})).id;
  const between = afterWrites(isWriteOf(table), isReadOf(target));
  const change = await stopAt<Answer>(held.proxy, between, () =>
    by.patch(`/${table}/${id}`, { ...body, [name]: linked }),
  );
  await act();
  expect((await api.delete(`/${target}/${linked}`)).status).toBe(200);
  change.goOn();
  expect((await change.answer).status).toBe(400);
}

const refusePost = (id: string, body: object, taken: object): Promise<void> =>
  refuse(system.slow, ["posts", id], body, ["tag", "tags"], () => make(api, "posts", taken));

describe("a record that keeps a unique value, as others have taken its former one", () => {
  it("is found by the parts of what it holds", async () => {
    const { id } = await make(api, "posts", { slug: "alpha" });
    await refusePost(id, { slug: "beta" }, { slug: "alpha" });
    const found = async (part: string): Promise<Row[]> =>
      valuesOf(api, "posts", "slug", { id, slug: { _contains: part } });
    expect([await found("eta"), await found("lph")]).toEqual([["beta"], []]);
  });

  it("says when that was written", async () => {
    const { id, updatedAt } = await make(api, "posts", { slug: "gamma" });
    await refusePost(id, { slug: "delta" }, { slug: "gamma" });
    const now = await read(api, "posts", id);
    expect(now.slug).toBe("delta");
    expect(Date.parse(now.updatedAt)).toBeGreaterThan(Date.parse(updatedAt));
  });

  it("gets all its other values back, unique ones included", async () => {
    const before = { title: "old", code: "c1", series: "s1", part: "1" };
    const { id } = await make(api, "posts", { slug: "epsilon", ...before });
    const after = { title: "new", code: "c2", series: "s2", part: "2" };
    await refusePost(id, { slug: "zeta", ...after }, { slug: "epsilon" });
    expect(await read(api, "posts", id)).toMatchObject({ slug: "zeta", ...before });
  });

  it("keeps all of what is unique together", async () => {
    const [before, after] = [
      { series: "s3", part: "3" },
      { series: "s4", part: "4" },
    ];
    const { id } = await make(api, "posts", { slug: "eta", ...before });
    await refusePost(id, { slug: "theta", ...after }, before);
    expect(await read(api, "posts", id)).toMatchObject({ slug: "eta", ...after });
  });

  it("keeps several of which each is taken", async () => {
    const { id } = await make(api, "posts", { slug: "iota", code: "c5", title: "old" });
    await refusePost(id, { slug: "kappa", code: "c6", title: "new" }, { slug: "iota", code: "c5" });
    expect(await read(api, "posts", id)).toMatchObject({ slug: "kappa", code: "c6", title: "old" });
  });
});

it("an address that a user keeps, as others have taken the former one, is still to be proved", async () => {
  const role = await roleFor(api, "manager", ["svc_user", "profiles"]);
  const manager = { email: "m@example.com", password: "long enough 1" };
  await make(api, "svc_user", { ...manager, role });
  const slow = await signIn(`${held.stack.appUrl}/api`, manager);
  // By root, so that it counts as proved.
  const { id } = await make(api, "svc_user", { email: "w@example.com" });
  await refuse(slow, ["svc_user", id], { email: "v@example.com" }, ["profile", "profiles"], () =>
    make(api, "svc_user", { email: "w@example.com" }),
  );
  const users = held.db.collection("svc_user");
  expect(await users.findOne({ _id: new ObjectId(String(id)) })).toMatchObject({
    email: "v@example.com",
    emailUnproven: true,
  });
});
