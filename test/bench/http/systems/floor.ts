// The hand-written server on an engine of its own, and the same behind a proxy that does nothing else.
import { fileURLToPath } from "node:url";
import { MongoClient } from "mongodb";
import { startEngine, stopEngine } from "../../../support/engine-of-run.js";
import { freePort } from "../../../support/free-port.js";
import { pidOf } from "../../../support/process-facts.js";
import { loadDocuments, storeAsset } from "../plain-documents.js";
import { Running, type System, type SystemOptions, startProgram, stopProgram } from "../system.js";

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
    const [port, proxyPort] = [await freePort(), await freePort()];
    const [url, proxyUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${proxyPort}`];
    const server = running.add(
      await startProgram(programOf("server"), { MONGODB_URL: engine.uri, PORT: String(port) }),
      stopProgram,
    );
    const proxy = running.add(
      await startProgram(programOf("proxy"), { TARGET: url, PORT: String(proxyPort) }),
      stopProgram,
    );
    const context = { posts: blog.posts, headers: {}, asset: `/assets/${assetId}`, sessions: [] };
    const processes = [
      { role: "server", pid: pidOf(server) },
      { role: "engine", pid: pidOf(engine.process) },
    ] as const;
    return {
      versions: {},
      targets: [
        { name: "floor", url, context, processes },
        {
          name: "proxied",
          url: proxyUrl,
          context,
          processes: [{ role: "proxy", pid: pidOf(proxy) }, ...processes],
        },
      ],
      stop: () => running.stop(),
    };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

function programOf(name: "server" | "proxy"): string {
  return fileURLToPath(new URL(`../../peers/floor/${name}.js`, import.meta.url));
}
