// The hand-written server on an engine of its own.
import { fileURLToPath } from "node:url";
import { MongoClient } from "mongodb";
import { startEngine, stopEngine } from "../../../support/engine-of-run.js";
import { freePort } from "../../../support/stack.js";
import { loadDocuments, storeAsset } from "../plain-documents.js";
import { pidOf, Running, type System, type SystemOptions, startProgram, stopProgram } from "../system.js";

const INDEXES = {
  authors: [{ name: 1 }],
  posts: [
    { status: 1, createdAt: -1 },
    { authorId: 1, createdAt: -1 },
    { commentCount: -1, _id: 1 },
    { title: 1 },
    { createdAt: 1 },
    { updatedAt: 1 },
  ],
  comments: [
    { postId: 1, createdAt: -1 },
    { createdAt: -1, postId: 1 },
  ],
} as const;

export async function startFloor({ folder, blog, asset, tell }: SystemOptions): Promise<System> {
  const running = new Running();
  try {
    const engine = running.add(await startEngine(`${folder}/mongodb`), stopEngine);
    const client = await MongoClient.connect(engine.uri);
    await loadDocuments(client.db("floor"), blog, INDEXES, tell);
    const assetId = await storeAsset(client.db("floor"), asset);
    await client.close();
    const port = await freePort();
    const file = fileURLToPath(new URL("../../peers/floor/server.js", import.meta.url));
    const server = running.add(
      await startProgram(file, { MONGODB_URL: engine.uri, PORT: String(port) }),
      stopProgram,
    );
    return {
      versions: {},
      targets: [
        {
          name: "floor",
          url: `http://127.0.0.1:${port}`,
          context: { posts: blog.posts, headers: {}, asset: `/assets/${assetId}`, sessions: [] },
          processes: [
            { role: "server", pid: pidOf(server) },
            { role: "engine", pid: pidOf(engine.process) },
          ],
        },
      ],
      stop: () => running.stop(),
    };
  } catch (error) {
    await running.stop();
    throw error;
  }
}
