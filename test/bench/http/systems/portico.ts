// Portico: one data service and one gateway on an engine of its own; both are targets.
import { MongoClient } from "mongodb";
import { type Api, apiOf, signIn } from "../../../support/api.js";
import { startEngine, stopEngine } from "../../../support/engine-of-run.js";
import { freePort } from "../../../support/free-port.js";
import { pidOf } from "../../../support/process-facts.js";
import { ADMIN, type RunningService, startService } from "../../../support/stack.js";
import { load } from "../../scale/load.js";
import { STATUSES, USERS, userOf } from "../data.js";
import { Running, type System, type SystemOptions, type Target } from "../system.js";

const TABLES = [
  { name: "authors", columns: [{ name: "name", type: "string", required: true }], indexes: [["name"]] },
  {
    name: "posts",
    columns: [
      { name: "title", type: "string", required: true, searchable: true },
      { name: "status", type: "enum", required: true, options: { values: STATUSES } },
    ],
    relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "posts" }],
    indexes: [["status", "-createdAt"]],
  },
  {
    name: "comments",
    columns: [{ name: "text", type: "string" }],
    relations: [
      {
        name: "post",
        type: "many-to-one",
        table: "posts",
        inverse: "comments",
        onDelete: "CASCADE",
        counted: true,
      },
    ],
  },
];

interface Marker {
  _id: "http";
  form: string;
  asset: string;
}

export async function startPortico(options: SystemOptions): Promise<System> {
  const running = new Running();
  try {
    const engine = running.add(await startEngine(`${options.folder}/mongodb`), stopEngine);
    const url = withDatabase(engine.uri);
    const [dataPort, appPort] = [await freePort(), await freePort()];
    const env = {
      APP_URL: `http://localhost:${appPort}`,
      PORT: String(appPort),
      DATA_SERVICE_PORT: String(dataPort),
      DATA_SERVICE_URL: `http://127.0.0.1:${dataPort}`,
      DATA_DIR: `${options.folder}/services`,
      MONGODB_URL: url,
      ADMIN_EMAIL: ADMIN.email,
      ADMIN_PASSWORD: ADMIN.password,
      DEMO: "off",
      NODE_ENV: "development",
      LOG_LEVEL: "warn",
      ACCESS_TOKEN_TTL_SECONDS: "3600",
    };
    const start = (name: string): Promise<RunningService> => startService(`@portico/${name}/main`, env);
    const asset = await prepare(options, url, () => start("data-service"));
    const service = running.add(await start("data-service"), (started) => started.stop());
    const gateway = running.add(await start("gateway"), (started) => started.stop());
    const processes = [
      { role: "server", pid: pidOf(service.process) },
      { role: "engine", pid: pidOf(engine.process) },
    ] as const;
    const context = { posts: options.blog.posts, asset: `/assets/${asset}` };
    const data: Target = {
      name: "data",
      url: service.url,
      processes,
      context: {
        ...context,
        headers: await bearer(service.url),
        sessions: await signIns(service.url, options.sessions),
      },
    };
    const gatewayUrl = `http://127.0.0.1:${appPort}`;
    const behind: Target = {
      name: "gateway",
      url: gatewayUrl,
      processes: [{ role: "proxy", pid: pidOf(gateway.process) }, ...processes],
      context: {
        ...context,
        headers: await cookies(gatewayUrl, env.APP_URL),
        sessions: await signIns(service.url, options.sessions),
      },
    };
    return { versions: {}, targets: [data, behind], stop: () => running.stop() };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

function withDatabase(uri: string): string {
  const [, server = "", options = ""] = /^(mongodb:\/\/[^/?]+)\/?[^?]*(\?.*)?$/.exec(uri) ?? [];
  return `${server}/portico${options}`;
}

/**
 * Makes tables, rules, users and records, unless an earlier run has.
 * @returns the id of the file
 */
async function prepare(
  { blog, asset, tell }: SystemOptions,
  url: string,
  start: () => Promise<RunningService>,
): Promise<string> {
  const client = await MongoClient.connect(url);
  try {
    const markers = client.db().collection<Marker>("_bench");
    const form = JSON.stringify([1, blog.posts, TABLES]);
    const kept = await markers.findOne({ _id: "http" });
    if (kept?.form === form) return kept.asset;
    await client.db().dropDatabase();
    const service = await start();
    const root = await signIn(service.url, ADMIN);
    for (const table of TABLES) await make(root, "/svc_table", table);
    await makeUsers(root);
    const id = await upload(root, asset);
    // A running service would index what is searchable while the records come in, which takes many times as long.
    await service.stop();
    await load(client.db(), blog, (text) => tell(text));
    await markers.insertOne({ _id: "http", form, asset: id });
    return id;
  } finally {
    await client.close();
  }
}

async function make(root: Api, path: string, body: unknown): Promise<string> {
  const answer = await root.post(path, body);
  if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body.data[0].id;
}

/** Users with a role that may read, create and update; no root admins, whom rules don't concern. */
async function makeUsers(root: Api): Promise<void> {
  const role = await make(root, "/svc_role", { name: "Member" });
  for (const { name: table } of TABLES) {
    for (const action of ["read", "create", "update"])
      await make(root, "/svc_permission", { role, table, action });
  }
  for (let number = 0; number < USERS; number += 1)
    await make(root, "/svc_user", { ...userOf(number), name: `User ${number}`, role });
}

async function upload(root: Api, asset: Buffer): Promise<string> {
  const form = new FormData();
  form.set("isPublic", "true");
  form.set("file", new Blob([new Uint8Array(asset)], { type: "image/png" }), "asset.png");
  const { status, body } = await root.send("POST", "/svc_file", { body: form });
  if (status !== 201) throw new Error(`the file was refused: ${JSON.stringify(body)}`);
  return body.data[0].id;
}

async function bearer(url: string): Promise<Record<string, string>> {
  const { body } = await apiOf(url).post("/auth/login", userOf(0));
  return { authorization: `Bearer ${body.accessToken}` };
}

/** What a browser on the app's own pages sends. */
async function cookies(url: string, origin: string): Promise<Record<string, string>> {
  const page = { origin, "sec-fetch-site": "same-origin" };
  const { status, headers } = await apiOf(`${url}/api`, page).post("/login", userOf(0));
  if (status !== 200) throw new Error(`sign-in through the gateway answered ${status}`);
  return {
    ...page,
    cookie: headers
      .getSetCookie()
      .map((cookie) => cookie.split(";")[0])
      .join("; "),
  };
}

/** Refresh tokens of as many sessions. */
async function signIns(url: string, count: number): Promise<string[]> {
  const tokens: string[] = [];
  const next = async (): Promise<void> => {
    while (tokens.length < count) {
      const { status, body } = await apiOf(url).post("/auth/login", userOf(tokens.length));
      if (status !== 200) throw new Error(`sign-in answered ${status}: ${JSON.stringify(body)}`);
      tokens.push(body.refreshToken);
    }
  };
  await Promise.all([next(), next()]);
  return tokens;
}
