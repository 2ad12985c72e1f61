// A database as other programs leave it: ten collections in the manner of mongoose, Mongoid, Directus, Parse and the
// shell, and beside them what is nobody's data.
import {
  Binary,
  Code,
  type Db,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  ObjectId,
  UUID,
} from "mongodb";

const oid = (kind: number, at: number): ObjectId =>
  new ObjectId(`${kind.toString(16).padStart(8, "0")}${at.toString(16).padStart(16, "0")}`);
const uuid = (at: number): UUID => new UUID(`0190163d-8694-739b-aea5-${at.toString(16).padStart(12, "0")}`);
const day = (at: number): Date => new Date(Date.UTC(2024, 0, at));
const times = <Each>(count: number, make: (at: number) => Each): Each[] =>
  Array.from({ length: count }, (_, at) => make(at + 1));

export const ids = {
  author: (at: number) => oid(1, at),
  post: (at: number) => oid(2, at),
  order: (at: number) => oid(3, at),
  device: uuid,
  session: (at: number) => `3f2504e0-4f89-41d3-9a0c-${String(at).padStart(12, "0")}`,
};

/** mongoose: timestamps, `__v`, nested documents, references by ObjectId. */
const authors = times(12, (at) => ({
  _id: ids.author(at),

  firstName: `Author ${at}`,
  email: `author${at}@example.com`,
  roles: at % 2 ? ["editor"] : ["editor", "admin"],
  address: { city: "Graz", geo: { type: "Point", coordinates: [15.4, 47.1] } },
  ...(at === 3 ? { bio: null } : at === 4 ? {} : { bio: `About ${at}` }),
  createdAt: day(at),
  updatedAt: day(at),
  __v: new Int32(0),
}));

const blogPosts = times(15, (at) => ({
  _id: ids.post(at),
  title: `Post ${at}`,
  // The last one's author is gone; one has none, one says so.
  ...(at === 15
    ? { authorId: oid(1, 99) }
    : at === 14
      ? { authorId: null }
      : at === 13
        ? {}
        : { authorId: ids.author(1 + (at % 3)) }),
  tags: at === 12 ? null : at % 2 ? ["red", "green"] : [],
  relatedIds: at > 2 ? [ids.post(1), ids.post(2)] : [],
  comments: [{ by: ids.author(1), text: "Nice", at: day(at) }],
  views: at % 2 ? new Int32(at) : new Double(at + 0.5),
  "meta.seo": "dotted",
  ...(at % 5 === 0 ? { publishedAt: day(at) } : {}),
}));

/** Ids that a person chose. */
const tags = ["red", "green", "blue"].map((_id) => ({ _id, label: _id.toUpperCase(), "über uns": true }));

/** Mongoid: snake case, exact prices. */
const orders = times(11, (at) => ({
  _id: ids.order(at),
  author_id: ids.author(1),
  number: `A-${at}`,
  shop: "main",
  total: Decimal128.fromString(`${at}.90`),
  created_at: day(at),
  updated_at: day(at),
  lines: [],
}));

/** Directus: numbers as ids. */
const categories = times(4, (at) => ({
  _id: new Int32(at),
  name: `Category ${at}`,
  parent: at > 1 ? new Int32(1) : null,
}));
const articles = times(10, (at) => ({
  _id: new Int32(at * 10),
  id: `article-${at}`,
  category: new Int32(1 + (at % 4)),
  status: at % 2 ? "draft" : "published",
  date_created: day(at),
  date_updated: null,
  sort: at === 2 ? "last" : new Int32(at),
}));

const devices = times(3, (at) => ({
  _id: uuid(at),

  serial: Long.fromString("9007199254740993").add(at),
  on: at !== 2,
  raw: new Binary(new Uint8Array([at, 2, 3])),
}));

const sessions = times(4, (at) => ({
  _id: ids.session(at),

  device: uuid(1 + (at % 3)),
  expiresAt: new Date(Date.UTC(2099, 0, at)),
  token: new Binary(new Uint8Array(16), 3),
}));

/** Ids of every kind in one collection, values of every kind in one field. */
const settings: Document[] = [
  { _id: oid(9, 1), value: "text" },
  { _id: "home", value: new Int32(5) },
  { _id: "5", value: [1, null, { deep: new Decimal128("1.5") }] },
  { _id: new Int32(5), value: null },
  { _id: uuid(7), value: { at: day(1) } },
  { _id: oid(9, 2).toHexString(), value: day(2) },
  { _id: { tenant: "a", year: new Int32(2024) } },
  { _id: new Double(1.5), value: /pattern/i },
  { _id: day(3), value: new Code("1 + 1") },
  { _id: Long.fromString("9007199254740995"), value: new Double(Number.NaN) },
];

/** Parse: pointers as text, its own names for times. */
const comments = times(10, (at) => ({
  _id: `cmt${String(at).padStart(7, "0")}`,

  _p_author: `authors$${ids.author(1).toHexString()}`,
  text: "x".repeat(at * 40),
  _acl: { "*": { r: true } },
  _created_at: day(at),
  _updated_at: day(at),
}));

/** The ten collections. */
export const COLLECTIONS: Readonly<Record<string, readonly Document[]>> = {
  authors,
  blogPosts,
  tags,
  orders,
  categories,
  articles,
  devices,
  sessions,
  settings,
  Comment: comments,
};

/** Fills an empty database. */
export async function makeForeignDatabase(db: Db): Promise<void> {
  for (const [name, documents] of Object.entries(COLLECTIONS))
    await db.collection<Document>(name).insertMany([...documents], { ignoreUndefined: false });
  await db.collection("authors").createIndex({ email: 1 }, { unique: true, name: "email_unique" });
  await db.collection("blogPosts").createIndex({ title: "text" });
  await db.collection("blogPosts").createIndex({ authorId: 1 });
  await db.collection("orders").createIndex({ shop: 1, number: 1 }, { unique: true });
  await db.collection("orders").createIndex({ created_at: -1, _id: 1 }, { sparse: true });
  await db.collection("sessions").createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 });
  await db
    .collection("articles")
    .createIndex({ status: 1 }, { partialFilterExpression: { status: "draft" } });
  // Nobody's data.
  await db.collection("fs.files").insertOne({ filename: "a.txt", length: 1 });
  await db.collection("fs.chunks").insertOne({ n: 0, data: new Binary(new Uint8Array([1])) });
  await db.createCollection("folded", { collation: { locale: "en", strength: 2 } });
  await db.createCollection("drafts", { viewOn: "articles", pipeline: [{ $match: { status: "draft" } }] });
}

/** Every document of every collection as its bytes, in the order of the collection. */
export async function bytesOf(db: Db): Promise<Record<string, string[]>> {
  const collections = [...Object.keys(COLLECTIONS), "fs.files", "fs.chunks"];
  const read = collections.map(async (name): Promise<[string, string[]]> => {
    const raw = await db
      .collection(name)
      .find({}, { raw: true, sort: { $natural: 1 } })
      .toArray();
    return [name, raw.map((bytes) => Buffer.from(bytes as unknown as Uint8Array).toString("base64"))];
  });
  return Object.fromEntries(await Promise.all(read));
}
