// Fills a database as a program would that uses the driver: a collection a table, ids for links.
import { type Db, type Document, GridFSBucket, type IndexSpecification, ObjectId } from "mongodb";
import { type Blog, idText, TABLE_NAMES } from "./data.js";

export type Indexes = Readonly<Record<(typeof TABLE_NAMES)[number], readonly IndexSpecification[]>>;

const BATCH = 5_000;

/** Loads the data unless the same is there. @param more what else each record holds, and where links lie */
export async function loadDocuments(
  db: Db,
  blog: Blog,
  indexes: Indexes,
  tell: (text: string) => void,
  shape: Shape = plain,
): Promise<void> {
  const form = JSON.stringify([2, blog.posts, indexes]);
  const marker = db.collection<{ _id: string; form: string }>("_loaded");
  if ((await marker.findOne({ _id: "blog" }))?.form === form) return;
  for (const name of shape.collections) await db.collection(name).deleteMany({});
  await marker.deleteMany({});
  for (const [at, table] of TABLE_NAMES.entries()) {
    const collection = db.collection<Document & { _id: ObjectId | string }>(shape.collections[at] ?? table);
    await fill(blog.countOf(table), BATCH, (rows) =>
      collection.insertMany(
        rows.map((row) => shape.document(table, row, blog)),
        { ordered: false },
      ),
    );
    for (const index of indexes[table]) await collection.createIndex(index);
    tell(`${blog.countOf(table)} ${table}`);
  }
  await shape.finish?.(db);
  await marker.insertOne({ _id: "blog", form });
}

/** How records become documents. */
export interface Shape {
  readonly collections: readonly string[];
  readonly document: (table: string, at: number, blog: Blog) => Document & { _id: ObjectId | string };
  /** After everything is there. */
  readonly finish?: (db: Db) => Promise<void>;
}

export const plain: Shape = {
  collections: TABLE_NAMES,
  document: (table, at, blog) => {
    const { values, links, createdAt } = blog.rowOf(table, at);
    const ids = Object.entries(links).map(([name, [other, position]]): [string, ObjectId] => [
      `${name}Id`,
      ObjectId.createFromHexString(idText(other, position, blog.posts)),
    ]);
    const _id = ObjectId.createFromHexString(idText(table, at, blog.posts));
    return { _id, ...values, ...Object.fromEntries(ids), createdAt, updatedAt: createdAt };
  },
  finish: countComments,
};

/** Keeps with every post how many comments it has, as programs do that sort by it. */
async function countComments(db: Db): Promise<void> {
  const number = { $group: { _id: "$postId", commentCount: { $sum: 1 } } };
  const into = { into: "posts", on: "_id", whenMatched: "merge", whenNotMatched: "discard" } as const;
  await db
    .collection("comments")
    .aggregate([number, { $merge: into }])
    .toArray();
}

async function fill(
  count: number,
  size: number,
  insert: (rows: readonly number[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < count; at += size) {
    await insert(Array.from({ length: Math.min(size, count - at) }, (_, more) => at + more));
  }
}

/** Keeps the file once, in GridFS. */
export async function storeAsset(db: Db, asset: Buffer): Promise<string> {
  const bucket = new GridFSBucket(db);
  const [kept] = await bucket.find({ filename: "asset.png", length: asset.length }).toArray();
  if (kept !== undefined) return kept._id.toHexString();
  const upload = bucket.openUploadStream("asset.png");
  await new Promise<void>((resolve, reject) => {
    upload.once("finish", () => resolve());
    upload.once("error", reject);
    upload.end(asset);
  });
  return upload.id.toHexString();
}
