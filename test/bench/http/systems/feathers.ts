// FeathersJS behind a plain proxy, on an engine of its own.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { apiOf } from "../../../support/api.js";
import { startEngine, stopEngine } from "../../../support/engine-of-run.js";
import { freePort } from "../../../support/free-port.js";
import { pidOf } from "../../../support/process-facts.js";
import { USERS, userOf } from "../data.js";
import { installPeer, peerFile, versionsOf } from "../peers.js";
import { loadDocuments, plain } from "../plain-documents.js";
import { Running, type System, type SystemOptions, startProgram, stopProgram } from "../system.js";

const INDEXES = {
  authors: [{ name: 1 }],
  posts: [{ status: 1, createdAt: -1 }, { authorId: 1, createdAt: -1 }, { title: 1 }],
  comments: [{ postId: 1, createdAt: -1 }],
} as const;

export async function startFeathers({ folder, blog, asset, tell }: SystemOptions): Promise<System> {
  await installPeer("feathers", tell);
  const running = new Running();
  try {
    const engine = running.add(await startEngine(join(folder, "mongodb")), stopEngine);
    const client = await MongoClient.connect(engine.uri);
    const db = client.db("feathers");
    const shape = { collections: plain.collections, document: plain.document };
    await loadDocuments(db, blog, INDEXES, tell, shape);
    await db.collection("users").createIndex({ email: 1 }, { unique: true });
    await client.close();
    const publicDir = join(folder, "public");
    await mkdir(join(publicDir, "assets"), { recursive: true });
    await writeFile(join(publicDir, "assets/asset.png"), asset);
    const [port, proxyPort] = [await freePort(), await freePort()];
    const target = `http://127.0.0.1:${port}`;
    const server = running.add(
      await startProgram(peerFile("feathers", "server.mjs"), {
        MONGODB_URL: engine.uri,
        PORT: String(port),
        PUBLIC_DIR: publicDir,
        SECRET: "a secret for the benchmark",
        USERS: JSON.stringify(Array.from({ length: USERS }, (_, number) => userOf(number))),
      }),
      stopProgram,
    );
    const proxy = running.add(
      await startProgram(peerFile("feathers", "proxy.mjs"), { TARGET: target, PORT: String(proxyPort) }),
      stopProgram,
    );
    const url = `http://127.0.0.1:${proxyPort}`;
    const { body } = await apiOf(target).post("/authentication", { strategy: "local", ...userOf(0) });
    const headers = { authorization: `Bearer ${body.accessToken}` };
    return {
      versions: await versionsOf("feathers", [
        "@feathersjs/feathers",
        "@feathersjs/mongodb",
        "http-proxy-middleware",
      ]),
      targets: [
        {
          name: "feathers",
          url,
          context: { posts: blog.posts, headers, asset: "/assets/asset.png", sessions: [] },
          processes: [
            { role: "proxy", pid: pidOf(proxy) },
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
