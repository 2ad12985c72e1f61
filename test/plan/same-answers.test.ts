// Whatever way the planner takes, the answer is the same: one database, several data services with other thresholds. For root,
// and for a member whose rules a way could lose.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { make } from "../contract/records/make.js";
import { type Answer, type Api, type Query, signIn } from "../support/api.js";
import { ADMIN, type RunningService, type Stack, startAnother, startStack } from "../support/stack.js";

/** More parents than FEW_PARENTS, so that the default ranks by grouping. */
const PARENTS = 260;

/** The likes of comments that all stand under one post. */
const CROWDED = 99;

const WAYS = {
  "joining and looking up everything": { QUERY_PLAN_MAX_KEYS: "0", QUERY_PLAN_FEW_PARENTS: "100000" },
  "grouping both sides to count": { QUERY_PLAN_MAX_KEYS: "0", QUERY_PLAN_FEW_PARENTS: "0" },
  "asking for few keys, and again for the distinct ones": { QUERY_PLAN_MAX_KEYS: "3" },
  "resolving keys and grouping everything": {
    QUERY_PLAN_MAX_KEYS: "100000",
    QUERY_PLAN_FEW_PARENTS: "0",
    QUERY_PLAN_WINDOW_CHILDREN: "0",
  },
  "looking through a narrow window": { QUERY_PLAN_FEW_PARENTS: "0", QUERY_PLAN_WINDOW_CHILDREN: "3" },
  "looking through a wide window": { QUERY_PLAN_FEW_PARENTS: "0", QUERY_PLAN_WINDOW_CHILDREN: "30" },
};

const QUERIES: Record<string, Record<string, unknown>> = {
  "to-one": { filter: { author: { name: { _contains: "1" } } } },
  "to-one, negated": { filter: { _not: { author: { name: { _contains: "1" } } } } },
  "to-one by null test": { filter: { author: { nick: { _is_null: true } } } },
  "to-one negated null test": { filter: { _not: { author: { nick: { _is_null: true } } } } },
  "to-many": { filter: { comments: { likes: { _gt: 5 } } } },
  "to-many, crowded at one parent": { filter: { comments: { likes: { _eq: CROWDED } } } },
  "to-many twice, and a column": {
    filter: {
      comments: { likes: { _gt: 2 } },
      tags: { label: "t1" },
      views: { _gt: 1 },
      _not: { comments: { likes: 7 } },
    },
  },
  "to-one with a column": { filter: { author: { name: { _contains: "1" } }, views: { _in: [1, 2] } } },
  "to-many, none": { filter: { _not: { comments: { likes: { _gt: 5 } } } } },
  "to-many under or": {
    filter: { _or: [{ comments: { likes: { _eq: 7 } } }, { author: { name: { _eq: "a1" } } }] },
  },
  "to-many with two hops": { filter: { comments: { writer: { name: { _ends_with: "2" } } } } },
  "negation inside a to-many": { filter: { comments: { _not: { writer: { name: { _ends_with: "2" } } } } } },
  "many-to-many": { filter: { tags: { label: { _in: ["t1", "t3"] } } } },
  "many-to-many, none": { filter: { _not: { tags: { label: { _in: ["t1", "t3"] } } } } },
  existence: { filter: { comments: { _is_null: true }, tags: { _is_not_null: true } } },
  "two members met by different children": {
    filter: { _and: [{ comments: { likes: { _eq: 1 } } }, { comments: { likes: { _eq: 2 } } }] },
  },
  "sort by count": { sort: "-_count(comments)" },
  "sort by count upwards": { sort: "_count(comments),-views" },
  "sort by max": { sort: "-_max(comments.likes),views" },
  "sort by max, those alike by id": { sort: "-_max(comments.likes)" },
  "sort by min upwards": { sort: "_min(comments.likes),-id" },
  "sort by newest child": { sort: "-_max(comments.createdAt)" },
  "sort by oldest child": { sort: "_min(comments.createdAt)" },
  "sort by newest child, filtered": { sort: "-_max(comments.likes)", filter: { views: { _in: [1, 2, 3] } } },
  "two aggregated keys": { sort: "_count(comments),-_max(comments.likes)" },
  "count over many-to-many": { sort: "-_count(tags),-_count(comments)" },
  "aggregated sort of a filtered list": { filter: { views: { _lt: 3 } }, sort: "-_count(comments)" },
  "aggregated sort mixed with a to-one chain": { sort: "author.name,-_count(comments)" },
  "lists of another program, by count": { sort: "-_count(shelves),views" },
  "lists of another program, by the greatest": { sort: "-_max(shelves.floor),-_count(shelves)" },
  "lists of another program, filtered": { filter: { shelves: { floor: { _gte: 0 } } } },
  "lists of another program, negated": { filter: { _not: { shelves: { floor: { _gt: 1 } } } } },
  "lists of another program, counted": { fields: "id,_count(shelves)", filter: { shelves: {} } },
  "counts of every kind": { fields: "id,_count(comments),_count(tags),tags._count(posts)" },
  "counts of a ranked list": { fields: "id,_count(comments)", sort: "-_max(comments.likes)" },
};

const MEMBER = { email: "member@example.com", password: "a member's password" };

/** What the member sees of each table: two of the rules go through a relation, that of the posts with two branches. */
const SEEN = {
  posts: { _or: [{ author: { name: { _neq: "a3" } } }, { author: { _is_null: true } }] },
  comments: { _or: [{ likes: { _neq: 4 } }, { post: { views: 3 } }] },
  writers: { name: { _not_in: ["a5", "a10"] } },
  tags: { label: { _neq: "t3" } },
  shelves: { floor: { _neq: 2 } },
};

const CALLERS = { root: ADMIN, "a member with rules": MEMBER };

describe("a query answers the same whichever way it is run", () => {
  let stack: Stack;
  const others: RunningService[] = [];
  /** By caller. */
  type Clients = ReadonlyMap<string, Api>;
  let usual: Clients;
  const ways = new Map<string, Clients>();
  const answers = new Map<string, Promise<Answer | undefined>>();

  const signInAll = async (url: string): Promise<Clients> => {
    const signedIn = Object.entries(CALLERS).map(
      async ([caller, credentials]) => [caller, await signIn(url, credentials)] as const,
    );
    return new Map(await Promise.all(signedIn));
  };

  const queryOf = (name: string): Query => ({ fields: "id,views", limit: "0", ...QUERIES[name] });
  const counted = (name: string): Query => ({ ...queryOf(name), meta: "*" });

  /** What the data service answers that runs as it is shipped; it is asked once. */
  const usually = (caller: string, name: string): Promise<Answer | undefined> => {
    const key = `${caller}, ${name}`;
    const asked = answers.get(key) ?? Promise.resolve(usual.get(caller)?.get("/posts", counted(name)));
    answers.set(key, asked);
    return asked;
  };

  beforeAll(async () => {
    stack = await startStack();
    const root = await signIn(stack.dataUrl, ADMIN);
    await fill(root);
    await adoptShelves(stack, root);
    await makeMember(root);
    usual = await signInAll(stack.dataUrl);
    for (const [name, env] of Object.entries(WAYS)) {
      const service = await startAnother(stack, env);
      others.push(service);
      ways.set(name, await signInAll(service.url));
    }
  });

  afterAll(async () => {
    for (const service of others) await service.stop();
    await stack?.stop();
  });

  test.each(Object.keys(SEEN))("the member does not see all %s", async (table) => {
    const counts = [...usual.values()].map(async (api) => {
      const { body } = await api.get(`/${table}`, { limit: "1", meta: "totalCount" });
      return Number(body.meta.totalCount);
    });
    const [all = 0, seen = 0] = await Promise.all(counts);
    expect([seen > 0, seen < all]).toEqual([true, true]);
  });

  describe.each(Object.keys(WAYS))("%s", (way) => {
    describe.each(Object.keys(CALLERS))("for %s", (caller) => {
      test.each(Object.keys(QUERIES))("%s", async (name) => {
        const get = async (query: Query) => (await ways.get(way)?.get(caller)?.get("/posts", query))?.body;
        const [expected, actual, cut, first] = await Promise.all([
          usually(caller, name),
          get(counted(name)),
          get({ ...queryOf(name), limit: "7", page: "3" }),
          get({ ...queryOf(name), limit: "5" }),
        ]);
        expect(expected?.status).toBe(200);
        expect(actual).toEqual(expected?.body);
        expect(cut?.data).toEqual(expected?.body.data.slice(14, 21));
        expect(first?.data).toEqual(expected?.body.data.slice(0, 5));
      });
    });
  });
});

async function makeMember(root: Api): Promise<void> {
  const { id: role } = await make(root, "svc_role", { name: "member" });
  await make(root, "svc_user", { ...MEMBER, role });
  for (const [table, filter] of Object.entries(SEEN))
    await make(root, "svc_permission", { role, table, action: "read", filter });
}

async function fill(api: Api): Promise<void> {
  const tables = [
    {
      name: "writers",
      columns: [
        { name: "name", type: "string" },
        { name: "nick", type: "string" },
      ],
    },
    { name: "tags", columns: [{ name: "label", type: "string" }] },
    {
      name: "posts",
      idType: "int",
      columns: [{ name: "views", type: "int" }],
      relations: [
        { name: "author", type: "many-to-one", table: "writers" },
        { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" },
      ],
    },
    {
      name: "comments",
      columns: [{ name: "likes", type: "int" }],
      relations: [
        { name: "post", type: "many-to-one", table: "posts", inverse: "comments" },
        { name: "writer", type: "many-to-one", table: "writers" },
      ],
    },
  ];
  for (const table of tables) await api.post("/svc_table", table);
  const writers = await create(api, "writers", 12, (at) => ({
    name: `a${at}`,
    nick: at % 3 ? `n${at}` : null,
  }));
  const tags = await create(api, "tags", 5, (at) => ({ label: `t${at}` }));
  const posts = await create(api, "posts", PARENTS, (at) => ({
    views: at % 4 ? at % 7 : null,
    author: at % 5 ? writers[at % 12] : null,
    tags: tags.filter((_, tag) => (at + tag) % 4 === 0),
  }));
  await create(api, "comments", 500, (at) => ({
    likes: at % 11 ? (at * 7) % 10 : null,
    post: at % 13 ? posts[(at * at) % (PARENTS - 40)] : null,
    writer: at % 4 ? writers[at % 7] : null,
  }));
  await create(api, "comments", 30, () => ({ likes: CROWDED, post: posts[3] }));
}

/** Lists of links as other programs leave them: with nulls and repetitions, or a single link in the place of a list. */
async function adoptShelves({ mongodbUrl }: Stack, api: Api): Promise<void> {
  const lists = (at: number): unknown[] => {
    const [some, other] = [1 + (at % PARENTS), 1 + ((at * 7) % 20)];
    return [[some, some], [null, some], [some, other, some], some, [], [null], null, [some]];
  };
  const client = await MongoClient.connect(mongodbUrl);
  const shelves = Array.from({ length: 400 }, (_, at) => ({
    floor: at % 5,
    postsIds: lists(at)[at % 8],
  }));
  await client.db().collection("shelves").insertMany(shelves);
  await client.close();
  const made = await api.post("/svc_table", {
    name: "shelves",
    columns: [{ name: "floor", type: "int" }],
    relations: [{ name: "posts", type: "many-to-many", table: "posts", inverse: "shelves" }],
  });
  expect(made.status).toBe(201);
}

async function create(
  api: Api,
  table: string,
  count: number,
  body: (at: number) => unknown,
): Promise<unknown[]> {
  const bodies = Array.from({ length: count }, (_, at) => body(at));
  const { status, body: answer } = await api.post(`/${table}`, bodies, { fields: "id" });
  expect(status).toBe(201);
  return answer.data.map((record: { id: unknown }) => record.id);
}
