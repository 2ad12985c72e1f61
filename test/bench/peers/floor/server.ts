// What the same answers cost without a product: node:http, the driver, and queries written by hand for their indexes.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { GridFSBucket, MongoClient, ObjectId, type WithId } from "mongodb";

interface Post {
  title: string;
  status: string;
  authorId: ObjectId;
  commentCount?: number;
  createdAt: Date;
  updatedAt: Date;
}
type Comment = Pick<Post, "createdAt"> & { text: string; postId: ObjectId };

const client = await MongoClient.connect(process.env.MONGODB_URL ?? "");
const db = client.db("floor", { writeConcern: { w: 1, journal: true } });
const [posts, comments] = [db.collection<Post>("posts"), db.collection<Comment>("comments")];
const authors = db.collection<{ name: string }>("authors");
const files = new GridFSBucket(db);
const NEWEST = { createdAt: -1 } as const;

function shown({ _id, authorId, commentCount, ...post }: WithId<Post>) {
  return { id: _id, ...post, author: { id: authorId } };
}

async function byAuthor(name: string) {
  const author = await authors.findOne({ name });
  if (author === null) return [];
  return (await posts.find({ authorId: author._id }).sort(NEWEST).limit(25).toArray()).map(shown);
}

function withComments(status: string, skip: number) {
  const latest = [
    { $sort: NEWEST },
    { $limit: 3 },
    { $project: { _id: 0, id: "$_id", text: 1, createdAt: 1 } },
  ];
  const join = {
    from: "comments",
    localField: "_id",
    foreignField: "postId",
    pipeline: latest,
    as: "comments",
  };
  const page = [
    { $match: { status } },
    { $sort: NEWEST },
    { $skip: skip },
    { $limit: 10 },
    { $lookup: join },
  ];
  return posts.aggregate<WithId<Post>>(page).map(shown).toArray();
}

/** Walks the comments from the newest on until it has met enough posts. */
async function byLatestComment(skip: number) {
  const met = new Map<string, ObjectId>();
  const newest = comments.find({}, { projection: { _id: 0, postId: 1 } }).sort({ createdAt: -1, postId: 1 });
  for await (const { postId } of newest.batchSize(50)) {
    met.set(postId.toHexString(), postId);
    if (met.size === skip + 10) break;
  }
  const ids = [...met.values()].slice(skip);
  const found = await posts.find({ _id: { $in: ids } }).toArray();
  return ids.flatMap((id) => found.filter((post) => post._id.equals(id)).map(shown));
}

async function search(text: string) {
  const title = { $regex: text.replaceAll(/[^\p{L}\d ]/gu, "\\$&"), $options: "i" };
  const [found, filtered, total] = await Promise.all([
    posts.find({ title }).sort({ _id: 1 }).limit(10).toArray(),
    posts.countDocuments({ title }, { hint: { title: 1 } }),
    posts.estimatedDocumentCount(),
  ]);
  return { data: found.map(shown), filtered, total };
}

async function create(body: unknown) {
  const { title, status, authorId } = body as Record<"title" | "status" | "authorId", string>;
  const now = new Date();
  const author = ObjectId.createFromHexString(authorId);
  const post: Post = { title, status, authorId: author, createdAt: now, updatedAt: now };
  const { insertedId: _id } = await posts.insertOne(post);
  return shown({ ...post, _id });
}

async function update(id: string, body: unknown) {
  const { status } = body as Pick<Post, "status">;
  const change = { $set: { status, updatedAt: new Date() } };
  const post = await posts.findOneAndUpdate({ _id: new ObjectId(id) }, change, { returnDocument: "after" });
  return post === null ? [] : [shown(post)];
}

async function answerTo(request: IncomingMessage): Promise<object> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  const [, room = "", id = ""] = pathname.split("/");
  const [status, page] = [searchParams.get("status") ?? "", Number(searchParams.get("page") ?? 1) - 1];
  if (request.method === "POST") return { data: [await create(await json(request))] };
  if (request.method === "PATCH") return { data: await update(id, await json(request)) };
  if (room === "posts") return { data: (await posts.find({ _id: new ObjectId(id) }).toArray()).map(shown) };
  if (room === "by-status") {
    return {
      data: (
        await posts
          .find({ status })
          .sort(NEWEST)
          .skip(page * 25)
          .limit(25)
          .toArray()
      ).map(shown),
    };
  }
  if (room === "by-author") return { data: await byAuthor(searchParams.get("name") ?? "") };
  if (room === "with-comments") return { data: await withComments(status, page * 10) };
  if (room === "by-child-count") {
    const counted = posts.find().sort({ commentCount: -1, _id: 1 });
    return {
      data: (
        await counted
          .skip(page * 10)
          .limit(10)
          .toArray()
      ).map(shown),
    };
  }
  if (room === "by-latest-child") return { data: await byLatestComment(page * 10) };
  return search(searchParams.get("text") ?? "");
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, room, id] = (request.url ?? "").split("/");
  if (room === "assets") {
    response.writeHead(200, { "Content-Type": "image/png" });
    return pipeline(files.openDownloadStream(new ObjectId(id)), response);
  }
  const text = JSON.stringify(await answerTo(request));
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
  response.writeHead(request.method === "POST" ? 201 : 200, headers).end(text);
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    if (!response.headersSent) response.writeHead(500);
    response.end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT), "127.0.0.1", () => process.send?.("ready"));
for (const end of ["SIGTERM", "disconnect"]) process.once(end, () => process.exit(0));
