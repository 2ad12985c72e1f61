// Parse Server on an engine of its own.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Db, MongoClient } from "mongodb";
import { type Api, apiOf } from "../../../support/api.js";
import { startEngine, stopEngine } from "../../../support/engine-of-run.js";
import { freePort } from "../../../support/free-port.js";
import { pidOf } from "../../../support/process-facts.js";
import { type Blog, idText, USERS, userOf } from "../data.js";
import { installPeer, peerFile, versionsOf } from "../peers.js";
import { loadDocuments, type Shape } from "../plain-documents.js";
import { Running, type System, type SystemOptions, startProgram, stopProgram } from "../system.js";

const APP = { "x-parse-application-id": "bench" };

const SIGNED_IN = { requiresAuthentication: true };
const RIGHTS = { find: SIGNED_IN, get: SIGNED_IN, count: SIGNED_IN, create: SIGNED_IN, update: SIGNED_IN };
const CLASSES = {
  Authors: { name: { type: "String" } },
  Posts: {
    title: { type: "String" },
    status: { type: "String" },
    author: { type: "Pointer", targetClass: "Authors" },
  },
  Comments: { text: { type: "String" }, post: { type: "Pointer", targetClass: "Posts" } },
};

const INDEXES = {
  authors: [{ name: 1 }],
  posts: [{ status: 1, _created_at: -1 }, { _p_author: 1, _created_at: -1 }, { title: 1 }],
  comments: [{ _p_post: 1, _created_at: -1 }],
} as const;

const CLASS_OF: Readonly<Record<string, string>> = {
  authors: "Authors",
  posts: "Posts",
  comments: "Comments",
};

/** As Parse stores objects. */
const shape: Shape = {
  collections: Object.values(CLASS_OF),
  document: (table: string, at: number, { rowOf, posts }: Blog) => {
    const { values, links, createdAt } = rowOf(table, at);
    const pointers = Object.entries(links).map(([name, [other, position]]): [string, string] => [
      `_p_${name}`,
      `${CLASS_OF[other]}$${idText(other, position, posts)}`,
    ]);
    const times = { _created_at: createdAt, _updated_at: createdAt };
    return { _id: idText(table, at, posts), ...values, ...Object.fromEntries(pointers), ...times };
  },
};

export async function startParse({ folder, blog, asset, tell }: SystemOptions): Promise<System> {
  await installPeer("parse", tell);
  const running = new Running();
  try {
    const engine = running.add(await startEngine(join(folder, "mongodb")), stopEngine);
    const port = await freePort();
    const masterKey = randomBytes(16).toString("hex");
    const server = running.add(
      await startProgram(
        peerFile("parse", "server.mjs"),
        {
          MONGODB_URL: addressOf(engine.uri),
          PORT: String(port),
          MASTER_KEY: masterKey,
          PARSE_SERVER_MASTER_KEY_IPS: "127.0.0.1,::1",
        },
        { cwd: folder },
      ),
      stopProgram,
    );
    const url = `http://127.0.0.1:${port}`;
    const master = apiOf(`${url}/parse`, { ...APP, "x-parse-master-key": masterKey });
    await makeClasses(master);
    await makeUsers(master);
    const client = await MongoClient.connect(engine.uri);
    await load(client.db("parse"), blog, tell);
    await client.close();
    const { body } = await apiOf(`${url}/parse`, APP).post("/login", credentials(0));
    const signedIn = { "x-parse-session-token": String(body.sessionToken) };
    return {
      versions: await versionsOf("parse", ["parse-server"]),
      targets: [
        {
          name: "parse",
          url,
          context: {
            posts: blog.posts,
            always: APP,
            headers: signedIn,
            sessions: [],
            asset: await upload(url, asset, { ...APP, ...signedIn }),
          },
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

/** The same promise for writes as everybody gives. */
function addressOf(uri: string): string {
  const [, server = ""] = /^(mongodb:\/\/[^/?]+)/.exec(uri) ?? [];
  return `${server}/parse?w=1&journal=true`;
}

function load(db: Db, blog: Blog, tell: (text: string) => void): Promise<void> {
  return loadDocuments(db, blog, INDEXES, tell, shape);
}

async function makeClasses(master: Api): Promise<void> {
  for (const [className, fields] of Object.entries(CLASSES)) {
    const { status, body } = await master.post(`/schemas/${className}`, {
      className,
      fields,
      classLevelPermissions: RIGHTS,
    });
    // 103: it is there from an earlier run.
    if (status !== 200 && body.code !== 103) throw new Error(`${className}: ${JSON.stringify(body)}`);
  }
}

function credentials(number: number): { username: string; password: string } {
  const { email, password } = userOf(number);
  return { username: email, password };
}

async function makeUsers(master: Api): Promise<void> {
  for (let number = 0; number < USERS; number += 1) {
    const { status, body } = await master.post("/users", credentials(number));
    // 202: it is there from an earlier run.
    if (status !== 201 && body.code !== 202) throw new Error(`user ${number}: ${JSON.stringify(body)}`);
  }
}

async function upload(url: string, asset: Buffer, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`${url}/parse/files/asset.png`, {
    method: "POST",
    headers: { ...headers, "content-type": "image/png" },
    body: new Uint8Array(asset),
  });
  const answer: unknown = await response.json();
  if (typeof answer !== "object" || answer === null || !("url" in answer))
    throw new Error(`the file was refused: ${JSON.stringify(answer)}`);
  return new URL(String(answer.url)).pathname;
}
