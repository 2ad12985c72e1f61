// The tables and rows most query tests ask: every kind of relation, nulls on every side, ties, records nobody links to.
import { type Answer, type Api, asAdmin, type Query } from "../../support/api.js";
import { type Stack, type StackOptions, startStack } from "../../support/stack.js";

export interface Library {
  readonly stack: Stack;
  /** Signed in as the root admin, through the gateway. */
  readonly api: Api;
  /** Ids of authors (UUIDs) by name. */
  readonly authors: Readonly<Record<"Ann" | "Bob" | "Cid" | "Dora", string>>;
  /** Ids of tags (object ids) by name. */
  readonly tags: Readonly<Record<"sea" | "war" | "love" | "unused", string>>;
  /** Sends a list request. */
  list(table: string, query?: Query): Promise<Answer>;
  /** The records of a list request that must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: records of every shape
  rows(table: string, query?: Query): Promise<any[]>;
  /** The ids of books that a filter lets through, ascending. */
  books(filter: unknown): Promise<number[]>;
  /** The message of a list request that must be refused with 400 BAD_REQUEST. */
  refusal(table: string, query: Query): Promise<string>;
}

const TABLES = [
  {
    name: "authors",
    idType: "uuid",
    columns: [
      { name: "name", type: "string", required: true },
      { name: "email", type: "string" },
      { name: "birthYear", type: "int" },
    ],
    // A relation to the table itself.
    relations: [{ name: "mentor", type: "many-to-one", table: "authors", inverse: "pupils" }],
  },
  {
    name: "profiles",
    idType: "int",
    columns: [{ name: "bio", type: "text" }],
    relations: [{ name: "author", type: "one-to-one", table: "authors", inverse: "profile" }],
  },
  { name: "publishers", idType: "int", columns: [{ name: "name", type: "string" }] },
  { name: "tags", columns: [{ name: "label", type: "string", required: true }] },
  {
    name: "books",
    idType: "int",
    columns: [
      { name: "title", type: "string", required: true },
      { name: "subtitle", type: "text" },
      { name: "pages", type: "int" },
      { name: "price", type: "decimal" },
      { name: "sold", type: "bigint" },
      { name: "weight", type: "float" },
      { name: "inPrint", type: "boolean" },
      { name: "publishedOn", type: "date" },
      { name: "status", type: "enum", options: { values: ["printed", "draft", "lost"] } },
      { name: "formats", type: "enumList", options: { values: ["paper", "audio", "ebook"] } },
      { name: "extra", type: "json" },
      { name: "draftNote", type: "string", hidden: true },
      { name: "royalty", type: "string", encrypted: true },
    ],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "books" },
      { name: "publisher", type: "many-to-one", table: "publishers", inverse: "books", required: true },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "books" },
    ],
  },
  {
    name: "reviews",
    idType: "int",
    columns: [
      { name: "text", type: "text" },
      { name: "stars", type: "int" },
      { name: "writtenOn", type: "date" },
    ],
    relations: [
      { name: "book", type: "many-to-one", table: "books", inverse: "reviews", required: true },
      { name: "critic", type: "many-to-one", table: "authors", inverse: "reviews" },
    ],
  },
];

/** Starts a stack and fills it. */
export async function startLibrary(options: StackOptions = {}): Promise<Library> {
  const stack = await startStack(options);
  try {
    return await fillLibrary(stack);
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

async function fillLibrary(stack: Stack): Promise<Library> {
  const api = await asAdmin(stack);
  for (const table of TABLES) await created(api, "svc_table", table);
  const [Ann, Bob] = [
    await one(api, "authors", { name: "Ann", email: "ann@example.com", birthYear: 1970 }),
    await one(api, "authors", { name: "Bob", birthYear: 1980 }),
  ];
  await api.patch(`/authors/${Bob}`, { mentor: Ann });
  const Cid = await one(api, "authors", { name: "Cid", email: "CID@example.com", mentor: Bob });
  // Dora has written nothing and has no profile.
  const Dora = await one(api, "authors", { name: "Dora", birthYear: 1980, mentor: Ann });
  await created(api, "profiles", [{ bio: "Writes about the sea", author: Ann }, { author: Bob }]);
  await created(api, "publishers", [{ name: "North" }, { name: "South" }]);
  const [sea, war, love, unused] = [
    await one(api, "tags", { label: "sea" }),
    await one(api, "tags", { label: "war" }),
    await one(api, "tags", { label: "love" }),
    await one(api, "tags", { label: "unused" }),
  ];
  await created(api, "books", books({ Ann, Bob }, { sea, war, love }));
  await created(api, "reviews", reviews({ Bob, Cid }));
  return {
    stack,
    api,
    authors: { Ann, Bob, Cid, Dora },
    tags: { sea, war, love, unused },
    ...questions(api),
  };
}

// 5 and 6 have no author; 4 and 6 have neither tags nor reviews; 6 has as little as can be.
function books(authors: Record<"Ann" | "Bob", string>, tags: Record<"sea" | "war" | "love", string>) {
  const { sea, war, love } = tags;
  return [
    {
      title: "Waves",
      subtitle: "Of the sea",
      pages: 100,
      price: "10.50",
      sold: "9007199254740993",
      weight: 0.5,
      inPrint: true,
      publishedOn: "2020-01-01",
      status: "printed",
      formats: ["paper"],
      extra: { shelf: 1 },
      draftNote: "check the tides",
      royalty: "7 %",
      author: authors.Ann,
      publisher: 1,
      tags: [sea, love],
    },
    {
      title: "Storms",
      subtitle: "50% (off)",
      pages: 200,
      price: "9.95",
      sold: "9007199254740992",
      weight: 1.5,
      inPrint: false,
      publishedOn: "2021-01-01",
      status: "lost",
      formats: ["paper", "audio"],
      author: authors.Ann,
      publisher: 2,
      tags: [sea],
    },
    {
      title: "Ashes",
      pages: 200,
      price: "100",
      sold: "-5",
      inPrint: true,
      publishedOn: "2019-05-31",
      status: "draft",
      formats: [],
      extra: [1, null],
      author: authors.Bob,
      publisher: 1,
      tags: [war],
    },
    { title: "Émile", subtitle: "Ein Großes", price: "9.950", author: authors.Bob, publisher: 2 },
    { title: "orphan", subtitle: "", pages: 300, status: "draft", publisher: 1, tags: [love] },
    { title: "Zero 😀", publisher: 2 },
  ];
}

// Book 1 has two; book 5 has one without stars.
function reviews({ Bob, Cid }: Record<"Bob" | "Cid", string>) {
  return [
    { book: 1, stars: 5, text: "Great read", writtenOn: "2022-01-03", critic: Bob },
    { book: 1, stars: 1, text: "Too salty", writtenOn: "2022-01-01", critic: Cid },
    { book: 2, stars: 3, writtenOn: "2022-01-02", critic: Cid },
    { book: 3, stars: 3, text: "great war" },
    { book: 5, text: "Strange", writtenOn: "2022-01-05", critic: Bob },
  ];
}

function questions(api: Api): Pick<Library, "list" | "rows" | "books" | "refusal"> {
  const list: Library["list"] = (table, query) => api.get(`/${table}`, query);
  const rows: Library["rows"] = async (table, query) => {
    const { status, body } = await list(table, query);
    if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body.message)}`);
    return body.data;
  };
  return {
    list,
    rows,
    books: async (filter) => {
      const found = await rows("books", { filter, fields: "id", limit: 0 });
      return found.map(({ id }) => id);
    },
    refusal: async (table, query) => {
      const { status, body } = await list(table, query);
      if (status !== 400 || body.error.code !== "BAD_REQUEST") {
        throw new Error(`was not refused but answered ${status}: ${JSON.stringify(body)}`);
      }
      return body.message;
    },
  };
}

/** Creates records (or a table) that must be accepted. */
export async function created(api: Api, table: string, body: unknown): Promise<Answer["body"][]> {
  const answer = await api.post(`/${table}`, body);
  if (answer.status !== 201) {
    throw new Error(`creating in ${table} answered ${answer.status}: ${JSON.stringify(answer.body.message)}`);
  }
  return answer.body.data;
}

async function one(api: Api, table: string, body: unknown): Promise<string> {
  const [record] = await created(api, table, body);
  return record.id;
}
