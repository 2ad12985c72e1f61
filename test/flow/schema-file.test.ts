// Contract 6: tables as code, and who may do what with them. SCHEMA_FILE is applied at start, and `npm run schema` compares by hand.
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  access,
  chmod,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, signIn } from "../support/api.js";
import { fileOf } from "../support/run-state.js";
import { ADMIN, freshDatabase, type RunningService, startService } from "../support/stack.js";
import { until } from "../support/wait.js";

const LIBRARY = [
  {
    name: "books",
    columns: [{ name: "title", type: "string", required: true }],
    relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "books" }],
    uniques: [["title", "author"]],
  },
  {
    name: "authors",
    columns: [{ name: "name", type: "string" }],
    // Each of the two leads to the other: neither can be made first.
    relations: [{ name: "debut", type: "one-to-one", table: "books" }],
  },
];

let directory: string;
let file: string;
let mongodbUrl: string;
let running: RunningService[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-schema-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

beforeEach(() => {
  mongodbUrl = freshDatabase();
  file = join(directory, "schema.json");
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.stop();
  const client = new MongoClient(mongodbUrl);
  await client.db().dropDatabase();
  await client.close();
});

const env = () => ({
  MONGODB_URL: mongodbUrl,
  DATA_DIR: directory,
  DATA_SERVICE_PORT: "0",
  NODE_ENV: "test",
  DEMO: "off",
  ADMIN_EMAIL: ADMIN.email,
  ADMIN_PASSWORD: ADMIN.password,
  LOG_LEVEL: "info",
  SCHEMA_FILE: file,
});
const write = (tables: unknown): Promise<void> => writeFile(file, JSON.stringify({ tables }));

async function start(): Promise<RunningService> {
  const service = await startService("@portico/data-service/main", env());
  running.push(service);
  return service;
}

/** Starts in vain. @returns what the service says */
const refused = (): Promise<string> =>
  start().then(
    () => "started",
    (error: Error) => error.message,
  );

/** Starts, looks, and stops again. */
async function startAnd<Result>(look: (admin: Api) => Promise<Result>): Promise<Result> {
  const service = await start();
  const result = await look(await signIn(service.url, ADMIN));
  await service.stop();
  return result;
}

/** Stores what an earlier version would have. */
async function asEarlier(table: string, stored: object): Promise<void> {
  const client = await MongoClient.connect(mongodbUrl);
  await client.db().collection("svc_table").updateOne({ name: table }, { $set: stored });
  await client.close();
}

const tables = async (admin: Api) => (await admin.get("/svc_table", { sort: "name", limit: "0" })).body.data;

const command = (...words: string[]) => commandWith({}, ...words);
const commandWith = (settings: Readonly<Record<string, string>>, ...words: string[]) =>
  commandBy([process.execPath], settings, ...words);

async function commandBy(
  [program, ...options]: readonly [string, ...string[]],
  settings: Readonly<Record<string, string>>,
  ...words: string[]
): Promise<{ code: number | null; output: string; errors: string }> {
  const child = spawn(program, [...options, fileOf("@portico/data-service/schema-main"), ...words], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env(), ...settings },
  });
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  return { code, output, errors };
}

describe("SCHEMA_FILE", () => {
  it("makes the tables at the first start, whatever their relations; the next starts change nothing", async () => {
    await write(LIBRARY);
    const made = await startAnd(async (admin) => {
      const author = (await admin.post("/authors", { name: "Ann" })).body.data[0].id;
      expect((await admin.post("/books", { title: "One", author })).status).toBe(201);
      expect((await admin.post("/books", { title: "One", author })).status).toBe(409);
      return tables(admin);
    });
    expect(made.map(({ name }: { name: string }) => name)).toEqual(["authors", "books"]);
    expect(await startAnd(tables)).toEqual(made);
  });

  it("says in the log what it has changed", async () => {
    await write(LIBRARY);
    await startAnd(tables);
    const [books] = LIBRARY;
    await write([{ ...books, columns: [...(books?.columns ?? []), { name: "pages", type: "int" }] }]);
    const told = (await start())
      .log()
      .split("\n")
      .filter((line) => line.includes("SCHEMA_FILE has changed"));
    expect(told).toEqual([expect.stringMatching(/"table":"books","change":"[^"]*pages/)]);
  });

  it("applies what is new in it, and leaves tables alone that it does not name", async () => {
    await write(LIBRARY);
    await startAnd(async (admin) => {
      await admin.post("/svc_table", { name: "others" });
      await admin.post("/authors", { name: "Ann" });
    });
    const [books, authors] = LIBRARY;
    const columns = [
      { name: "name", type: "text" },
      { name: "born", type: "date" },
    ];
    await write([books, { ...authors, columns }]);
    await startAnd(async (admin) => {
      expect((await tables(admin)).length).toBe(3);
      expect((await admin.get("/authors", { fields: "name,born" })).body.data).toEqual([
        { name: "Ann", born: null },
      ]);
    });
  });

  it.each([[["articles", "posts"]], [["posts", "articles"]]])(
    "renames a table by its id and makes a new one of its former name, listed as %j",
    async (order) => {
      const columns = [{ name: "title", type: "string" }];
      await write([{ name: "posts", columns }]);
      const [{ id }] = await startAnd(async (admin) => {
        await admin.post("/posts", { title: "kept" });
        return tables(admin);
      });
      const file: Record<string, object> = {
        articles: { id, name: "articles", columns },
        posts: {
          name: "posts",
          columns: [{ name: "text", type: "text" }],
          relations: [{ name: "article", type: "many-to-one", table: "articles" }],
        },
      };
      await write(order.map((name) => file[name]));
      const made = await startAnd(async (admin) => {
        expect((await admin.get("/articles", { fields: "id,title" })).body.data).toMatchObject([
          { title: "kept" },
        ]);
        expect((await admin.get("/posts", { fields: "text,article" })).body.data).toEqual([]);
        return tables(admin);
      });
      expect(made.find(({ name }: { name: string }) => name === "articles").id).toBe(id);
      expect(await startAnd(tables)).toEqual(made);
    },
  );

  it("stops the start where data would be lost, with the list, and nothing is changed", async () => {
    await write(LIBRARY);
    const before = await startAnd(async (admin) => {
      await admin.post("/authors", { name: "Ann" });
      await admin.post("/books", { title: "One" });
      return tables(admin);
    });
    const [books, authors] = LIBRARY;
    await write([
      { ...books, columns: [{ name: "title", type: "int", required: true }] },
      { ...authors, columns: [{ name: "born", type: "date" }] },
    ]);
    const refusal = await refused();
    // The title can't be lost, so that no confirmation helps; and nothing looks like a new name.
    expect(refusal).toMatch(
      /SCHEMA_FILE can't be applied to the tables that are there\. Change the file, or write what is there into it with: npm run schema -- pull \S+ --tables\.$/m,
    );
    expect(refusal).toMatch(/^books: columns\.title: 1 of the records/m);
    expect(refusal).toMatch(/^authors: columns\.name: 1 of the records have a value in it/m);
    await write(LIBRARY);
    expect(await startAnd(tables)).toEqual(before);
  });

  it("names the file in the command that applies it all the same, and says how to rename", async () => {
    await write(LIBRARY);
    await startAnd((admin) => admin.post("/authors", { name: "Ann" }));
    const [books, authors] = LIBRARY;
    file = join(directory, "other tables.json");
    await write([books, { ...authors, columns: [{ name: "called", type: "string" }] }]);
    const refusal = await refused();
    expect(refusal).toContain(`or apply it once with: npm run schema -- apply '${file}' --confirm (`);
    expect(refusal).toContain("npm run schema -- pull current.json writes the tables with their ids.");
    expect(refusal).toMatch(/^authors: columns\.name: .* if "called" is its new name, give that its id \("/m);
    await write([books, { ...authors, columns: [] }]);
    expect(await refused()).not.toContain("pull current.json");
  });

  it.each([
    ["that is not there", undefined, /SCHEMA_FILE .* can't be read \(ENOENT\)/],
    ["that is no JSON", "{", /is not valid JSON/],
    [
      "with a table that makes no sense",
      '{"tables":[{"name":"a","columns":[{"name":"b","type":"c"}]}]}',
      /columns\[0\]\.type/,
    ],
  ])("%s stops the start with a sentence", async (_case, content, sentence) => {
    if (content === undefined) file = join(directory, "missing.json");
    else await writeFile(file, content);
    await expect(start()).rejects.toThrow(sentence);
  });

  it("is applied by four instances that start at once", async () => {
    await write(LIBRARY);
    const services = await Promise.all(Array.from({ length: 4 }, start));
    const seen = await Promise.all(services.map(async ({ url }) => tables(await signIn(url, ADMIN))));
    expect(seen[0].length).toBe(2);
    for (const each of seen) expect(each).toEqual(seen[0]);
  });
});

describe("npm run schema", () => {
  it("pull writes a file that makes the same tables elsewhere, with the same ids", async () => {
    await write(LIBRARY);
    const made = await startAnd(tables);
    expect((await command("pull", file)).code).toBe(0);
    expect((await command("diff", file)).output).toBe("no difference\n");
    const pulled = await readFile(file, "utf8");
    mongodbUrl = freshDatabase();
    const again = await startAnd(tables);
    const ids = (list: { id: string; columns: { id: string }[] }[]) =>
      list.map(({ id, columns }) => [id, columns.map((each) => each.id)]);
    expect(ids(again)).toEqual(ids(made));
    await command("pull", file);
    expect(await readFile(file, "utf8")).toBe(pulled);
  });

  it("pull loses no file to a database without tables, which may be another one than was meant", async () => {
    await write([]);
    await startAnd(tables);
    await write(LIBRARY);
    const before = await readFile(file, "utf8");
    const { code, errors } = await command("pull", file);
    expect([code, errors]).toEqual([
      1,
      `Nothing is pulled: the MongoDB at MONGODB_URL has no tables, so ${file} is left as it is.\n`,
    ]);
    expect(await readFile(file, "utf8")).toBe(before);
  });

  it("pull loses no file to a full disk", async () => {
    await write(LIBRARY);
    await startAnd(tables);
    const before = await readFile(file, "utf8");
    // To a process, one that lets no file grow is as full as another.
    const program = ["sh", "-c", 'ulimit -f 0 && exec "$0" "$@"', process.execPath] as const;
    const { code, errors } = await commandBy(program, {}, "pull", file);
    expect([code, errors]).toEqual([1, `${file} can't be written (EFBIG).\n`]);
    expect(await readFile(file, "utf8")).toBe(before);
    expect((await command("pull", file)).code).toBe(0);
    expect((await readdir(directory)).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it("pull replaces what a link leads to, with the rights that it has, and writes to what is no file", async () => {
    await write(LIBRARY);
    await startAnd(tables);
    // More than the umask would leave.
    await chmod(file, 0o664);
    const link = join(directory, "link.json");
    await symlink(file, link);
    expect((await command("pull", link)).code).toBe(0);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o664);
    const pulled = await readFile(file, "utf8");
    expect(pulled).not.toBe(JSON.stringify({ tables: LIBRARY }));
    const pipe = join(directory, "pipe");
    execFileSync("mkfifo", [pipe]);
    // A process can be ended where nothing is ever written to the pipe.
    const reader = spawn("cat", [pipe]);
    const [piped, { code }] = await Promise.all([
      text(reader.stdout),
      command("pull", pipe).finally(() => setTimeout(() => reader.kill(), 1_000).unref()),
    ]);
    expect([code, piped]).toEqual([0, pulled]);
  });

  it.each(["pull", "infer"])("%s names the file that can't be written", async (word) => {
    await write(LIBRARY);
    await startAnd(tables);
    const missing = join(directory, "no such folder", "schema.json");
    const { code, errors } = await command(word, missing);
    expect([code, errors]).toEqual([1, `${missing} can't be written (ENOENT).\n`]);
  });

  it.each([
    ["pull", 1],
    ["diff", 2],
    ["apply", 1],
  ])("%s makes no database where there is none, and exits with %d", async (word, failed) => {
    const missing = join(directory, "mistyped");
    mongodbUrl = `mongodb_embedded://${missing}`;
    await write(LIBRARY);
    const { code, errors } = await command(word, file);
    expect([code, errors]).toEqual([
      failed,
      `There is no database at ${missing}; DATA_DIR or MONGODB_URL says where it is, and the service makes one when it first starts.\n`,
    ]);
    await expect(access(missing)).rejects.toThrow("ENOENT");
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ tables: LIBRARY });
    mongodbUrl = freshDatabase();
  });

  it("infer makes no database where there is none", async () => {
    const missing = join(directory, "mistyped");
    const { code, errors } = await command("infer", file, "--database", `mongodb_embedded://${missing}`);
    expect([code, errors]).toEqual([
      1,
      `There is no database at ${missing}; --database or MONGODB_URL says where it is.\n`,
    ]);
    await expect(access(missing)).rejects.toThrow("ENOENT");
  });

  it("tells a rename by the ids of a pulled file, also while the service runs on the same database", async () => {
    await write(LIBRARY);
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    await admin.post("/authors", { name: "Ann" });
    await command("pull", file);
    const renamed = (await readFile(file, "utf8"))
      .replaceAll('"authors"', '"writers"')
      .replace('"name": "name"', '"name": "called"');
    await writeFile(file, renamed);
    const { code, output } = await command("diff", file);
    expect([code, output.split("\n").toSorted()]).toEqual([
      1,
      [
        "",
        'writers: column.change columns.name (renamed to "called")',
        'writers: table.set name "authors" -> "writers"',
      ],
    ]);
    expect((await command("apply", file)).code).toBe(0);
    expect((await admin.get("/writers", { fields: "called" })).body.data).toEqual([{ called: "Ann" }]);
  });

  it("apply loses nothing without --confirm", async () => {
    await write(LIBRARY);
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    await admin.post("/authors", { name: "Ann" });
    const { data } = (await admin.get("/svc_table", { filter: { name: "authors" } })).body;
    const nameId: string = data[0].columns[0].id;
    const [books, authors] = LIBRARY;
    await write([books, { ...authors, columns: [] }]);
    const refused = await command("apply", file);
    expect([refused.code, refused.output]).toEqual([
      1,
      "authors: column.remove columns.name\nauthors: LOSES columns.name: 1 of the records have a value in it, and it would be removed: " +
        `"columns" is the full set; list it there with its id ("${nameId}") to keep it\n`,
    ]);
    expect(refused.errors).toMatch(
      /^Nothing was applied: with --confirm what is marked LOSES is done as well\.$/m,
    );
    expect((await admin.get("/authors", { fields: "name" })).body.data).toEqual([{ name: "Ann" }]);
    expect((await command("apply", file, "--confirm")).code).toBe(0);
    expect((await admin.get("/authors", { fields: "name" })).status).toBe(400);
  });

  it("goes back to the former file with nothing lost once what the later one removed is undone", async () => {
    await write(LIBRARY);
    const { url } = await start();
    const admin = await signIn(url, ADMIN);
    await admin.post("/authors", { name: "Ann" });
    await command("pull", file);
    const former = await readFile(file, "utf8");
    const [books, authors] = LIBRARY;
    await write([books, { ...authors, columns: [] }]);
    expect((await command("apply", file, "--confirm")).code).toBe(0);
    await writeFile(file, former);
    const stopped = await command("diff", file);
    expect(stopped.output).toMatch(
      /^authors: LOSES columns\.name: 1 of the records have a value from before it was removed/m,
    );
    const undo = /POST (?<path>\S+undo)/.exec(stopped.output)?.groups?.path ?? "";
    expect((await admin.post(undo)).status).toBe(200);
    expect((await command("diff", file)).output).toBe("no difference\n");
    expect((await admin.get("/authors", { fields: "name" })).body.data).toEqual([{ name: "Ann" }]);
  });

  it("pull and a start change nothing about what only earlier versions let a table have; it can be undone, too", async () => {
    const relations = [{ name: "to", type: "many-to-one", table: "svc_role" }];
    await write([{ name: "old", columns: [{ name: "a", type: "string" }], relations, indexes: [["a"]] }]);
    const [{ id }] = await startAnd(tables);
    await asEarlier("old", { indexes: [["id"]], "relations.0.table": "svc_table" });
    expect((await command("pull", file)).code).toBe(0);
    expect(await command("diff", file)).toMatchObject({ code: 0 });
    await startAnd(async (admin) => {
      const before = await tables(admin);
      expect(before).toMatchObject([{ indexes: [["id"]], relations: [{ table: "svc_table" }] }]);
      await admin.post("/old", { a: "x", to: id });
      expect((await admin.patch(`/svc_table/${id}`, { description: "new" })).status).toBe(200);
      const without = { relations: [], indexes: [] };
      const { confirmHash } = (await admin.patch(`/svc_table/${id}`, without)).body.error.details;
      expect((await admin.patch(`/svc_table/${id}`, without, { confirm: confirmHash })).status).toBe(200);
      expect((await admin.post(`/svc_table/${id}/undo`)).status).toBe(200);
      const [{ indexes, relations: back }] = await tables(admin);
      expect({ indexes, back }).toMatchObject({
        indexes: [["id"]],
        back: [{ name: "to", table: "svc_table" }],
      });
      expect((await admin.get("/old", { fields: "a,to" })).body.data).toEqual([{ a: "x", to: { id } }]);
    });
  });

  it("says what to do when the service has the embedded database open", async () => {
    mongodbUrl = `mongodb_embedded://${directory}/mongodb`;
    await write(LIBRARY);
    await start();
    const { code, errors } = await command("apply", file);
    expect(code).toBe(1);
    expect(errors).toMatch(
      /in use by another process, probably a Portico that is running: stop that process/,
    );
    expect(errors).toMatch(/stop the service first/);
    await running[0]?.stop();
    expect((await command("diff", file)).output).toBe("no difference\n");
    mongodbUrl = freshDatabase();
  });

  it("reads the embedded database beside the service that has it open, also after one was killed", async () => {
    mongodbUrl = `mongodb_embedded://${directory}/read`;
    await write(LIBRARY);
    const killed = await start();
    killed.process.kill("SIGKILL");
    await once(killed.process, "exit");
    running = [];
    const admin = await signIn((await start()).url, ADMIN);
    await admin.post("/svc_table", { name: "shelves", columns: [{ name: "row", type: "int" }] });
    expect((await command("diff", file)).code).toBe(0);
    const pulled = await command("pull", file);
    expect([pulled.code, pulled.errors]).toEqual([0, ""]);
    const names = JSON.parse(await readFile(file, "utf8")).tables.map(({ name }: { name: string }) => name);
    expect(names.toSorted()).toEqual(["authors", "books", "shelves"]);
    expect((await admin.post("/shelves", { row: 1 })).status).toBe(201);
    const inferred = await command("infer", join(directory, "inferred.json"));
    expect([inferred.code, inferred.errors]).toEqual([0, ""]);
    expect(inferred.output).toMatch(/^authors\S*: has a table already, left out$/m);
    const other = await commandWith({ ENCRYPTION_KEY: randomBytes(32).toString("hex") }, "pull", file);
    expect([other.code, other.errors]).toEqual([
      1,
      expect.stringMatching(/^The signing keys .* can't be decrypted;.*\n$/),
    ]);
    mongodbUrl = freshDatabase();
  });
});

describe("roles and rules of a schema file", () => {
  const BOOKS = {
    name: "books",
    columns: [
      { name: "title", type: "string" },
      { name: "price", type: "int" },
    ],
  };
  const CHEAP = { table: "books", action: "read", filter: { price: { _lt: 5 } } };
  const TITLES = { table: "books", action: "read", fields: "title" };
  const writeAll = (more: object, ...tables: object[]): Promise<void> =>
    writeFile(file, JSON.stringify({ tables: tables.length === 0 ? [BOOKS] : tables, ...more }));
  /** Ids and all. */
  const access = async (admin: Api) => {
    const [roles, rules] = await Promise.all(
      ["/svc_role", "/svc_permission"].map((path) => admin.get(path, { sort: "id", limit: "0" })),
    );
    return { roles: roles?.body.data, rules: rules?.body.data };
  };
  const makeRole = async (admin: Api, name: string, rules: object[]): Promise<void> => {
    const role = (await admin.post("/svc_role", { name })).body.data[0].id;
    await admin.post(
      "/svc_permission",
      rules.map((rule) => ({ ...rule, role })),
    );
  };
  /** What the start tells of it; the log may come a moment after the service answers. */
  const changesTold = async ({ log }: RunningService): Promise<string[]> => {
    const whole = await until(log, (text) => text.includes("data service is ready"));
    return whole.split("\n").filter((line) => line.includes("SCHEMA_FILE has changed who may do what"));
  };

  it("go to another database by pull and a start: its members may do the same there", async () => {
    await writeAll({});
    await startAnd(async (admin) => {
      await makeRole(admin, "clerk", [CHEAP, { ...CHEAP, action: "delete" }]);
      await admin.post("/svc_permission", { role: null, ...TITLES });
      await admin.post("/svc_permission", { role: null, ...TITLES, action: "update", isEnabled: false });
    });
    expect((await command("pull", file)).code).toBe(0);
    const pulled = await readFile(file, "utf8");
    expect(JSON.parse(pulled)).toMatchObject({
      roles: [{ name: "clerk", rules: [CHEAP, { ...CHEAP, action: "delete" }] }],
      everyone: [TITLES],
    });
    mongodbUrl = freshDatabase();
    const service = await start();
    expect(await changesTold(service)).toHaveLength(4);
    const admin = await signIn(service.url, ADMIN);
    const clerk = { email: "clerk@example.com", password: "the password of a clerk" };
    const [role] = (await admin.get("/svc_role")).body.data;
    await admin.post("/svc_user", { ...clerk, role: role.id });
    await admin.post("/books", [
      { title: "Cheap", price: 1 },
      { title: "Dear", price: 9 },
    ]);
    const asked = { fields: "title,price", sort: "title", filter: { price: { _gt: 0 } } };
    expect((await apiOf(service.url).get("/books", { fields: "title", sort: "title" })).body.data).toEqual([
      { title: "Cheap" },
      { title: "Dear" },
    ]);
    expect((await apiOf(service.url).get("/books", asked)).status).toBe(400);
    const seen = await (await signIn(service.url, clerk)).get("/books", { fields: "*", sort: "title" });
    expect(seen.body.data).toMatchObject([{ title: "Cheap", price: 1 }, { title: "Dear" }]);
    expect(seen.body.data[1]).not.toHaveProperty("price");
    expect((await command("diff", file)).output).toBe("no difference\n");
    await command("pull", file);
    expect(await readFile(file, "utf8")).toBe(pulled);
    expect((await command("pull", file, "--tables")).code).toBe(0);
    expect(Object.keys(JSON.parse(await readFile(file, "utf8")))).toEqual(["tables"]);
  });

  it("are the same after a second start", async () => {
    await writeAll({ roles: [{ name: "clerk", rules: [CHEAP] }], everyone: [TITLES] });
    const made = await startAnd(access);
    expect([made.roles.length, made.rules.length]).toEqual([1, 2]);
    const again = await start();
    expect(await access(await signIn(again.url, ADMIN))).toEqual(made);
    expect(await changesTold(again)).toEqual([]);
  });

  it("that say something else are changed where they are", async () => {
    const pending = { table: "books", action: "create", presets: { title: "New" } };
    const [all, cheap] = [
      { ...pending, presets: null },
      { ...pending, check: { price: { _lt: 5 } } },
    ];
    await writeAll({ roles: [{ name: "clerk", rules: [CHEAP, cheap, all] }] });
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    const ids = async () => (await access(admin)).rules.map(({ id }: { id: string }) => id);
    const before = await ids();
    const wider = { ...cheap, check: { price: { _lt: 9 } }, description: "Up to 9." };
    await writeAll({ roles: [{ name: "clerk", rules: [{ ...CHEAP, fields: "title" }, wider, all] }] });
    const steps = [
      'role "clerk": rule.set read books: fields none -> "title"',
      'role "clerk": rule.set create books: check {"price":{"_lt":5}} -> {"price":{"_lt":9}}, description none -> "Up to 9."',
      "",
    ].join("\n");
    expect(await command("apply", file)).toMatchObject({ code: 0, output: steps });
    expect(await ids()).toEqual(before);
    expect((await access(admin)).rules).toMatchObject([{ ...CHEAP, fields: "title" }, wider, all]);
    expect((await command("diff", file)).output).toBe("no difference\n");
  });

  it("that a change of tables switches off go where the file says who may do what, and are not lost by it", async () => {
    await writeAll({ roles: [{ name: "clerk", rules: [CHEAP] }], everyone: [CHEAP] });
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    const priceless = { ...BOOKS, columns: BOOKS.columns.slice(0, 1) };
    await writeAll({ roles: [{ name: "clerk", rules: [TITLES] }] }, priceless);
    expect((await command("apply", file)).output).toMatch(
      /^books: LOSES .* read "books" would be switched off/m,
    );
    await writeAll({ roles: [{ name: "clerk", rules: [TITLES] }], everyone: [] }, priceless);
    const steps = [
      "books: column.remove columns.price",
      'role "clerk": rule.add read books {"fields":"title"}',
      'role "clerk": rule.remove read books {"filter":{"price":{"_lt":5}}}',
      'everyone: rule.remove read books {"filter":{"price":{"_lt":5}}}',
      "",
    ].join("\n");
    expect(await command("diff", file)).toMatchObject({ code: 1, output: steps });
    expect((await command("apply", file)).code).toBe(0);
    expect((await access(admin)).rules).toMatchObject([TITLES]);
    expect((await command("diff", file)).output).toBe("no difference\n");
  });

  /** A rule by which everybody may sign up, with what it sets. */
  const signUp = (presets: object) => {
    return { table: "svc_user", action: "create", fields: "email,password", presets };
  };

  it("that set a role name it, as its id is another one elsewhere: who signs up there has that role", async () => {
    await writeAll({});
    await startAnd(async (admin) => {
      const role = (await admin.post("/svc_role", { name: "member" })).body.data[0].id;
      await admin.post("/svc_permission", { role: null, ...signUp({ role }) });
    });
    expect(await command("pull", file)).toMatchObject({ code: 0, errors: "" });
    const pulled = await readFile(file, "utf8");
    expect(JSON.parse(pulled).everyone).toEqual([signUp({ role: { name: "member" } })]);
    expect((await command("diff", file)).output).toBe("no difference\n");

    mongodbUrl = freshDatabase();
    const service = await start();
    const ann = { email: "ann@example.com", password: "the password of Ann" };
    expect((await apiOf(service.url).post("/svc_user", ann)).status).toBe(201);
    const admin = await signIn(service.url, ADMIN);
    const { data } = (await admin.get(`/svc_user?fields=role.name&filter={"email":"${ann.email}"}`)).body;
    expect(data).toMatchObject([{ role: { name: "member" } }]);
    expect((await command("diff", file)).output).toBe("no difference\n");
  });

  it("that set a role by its id say the same as by its name", async () => {
    await writeAll({
      roles: [{ name: "member", rules: [] }],
      everyone: [signUp({ role: { name: "member" } })],
    });
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    const [{ id }] = (await admin.get("/svc_role")).body.data;
    expect((await access(admin)).rules).toMatchObject([signUp({ role: id })]);
    await writeAll({ everyone: [signUp({ role: id })] });
    expect((await command("diff", file)).output).toBe("no difference\n");
    await writeAll({
      roles: [{ name: "guest", rules: [] }],
      everyone: [signUp({ role: { name: "guest" } })],
    });
    const set = 'presets {"role":{"name":"member"}} -> {"role":{"name":"guest"}}';
    expect((await command("apply", file)).output).toBe(
      `role "guest": create\neveryone: rule.set create svc_user: ${set}\n`,
    );
  });

  it.each([
    [{ name: "memer" }, 'presets.role.name: there is no role "memer"; did you mean "member"?'],
    ["f".repeat(24), `presets.role: must name a role, as in {"name":"Member"}, not "${"f".repeat(24)}"`],
  ])("that set a role which is not there stop the file, with its place: %j", async (role, problem) => {
    await writeAll({});
    await startAnd(tables);
    await writeAll({ roles: [{ name: "member", rules: [] }], everyone: [signUp({ role })] });
    expect((await command("apply", file)).output).toContain(`everyone: WRONG everyone[0].${problem}`);
  });

  it("that set another record by its id are told by pull, as that is another one elsewhere, and stop the file without it", async () => {
    await writeAll({}, ...LIBRARY);
    const id = await startAnd(async (admin) => {
      const author = (await admin.post("/authors", { name: "Nobody" })).body.data[0].id;
      const rule = { table: "books", action: "create", fields: "title" };
      await admin.post("/svc_permission", { role: null, ...rule, presets: { author } });
      return author;
    });
    expect((await command("pull", file)).errors).toBe(
      `everyone: a rule to create "books" sets "author" to a record by its id, "${id}", which may be another one elsewhere, or none: where the file is applied there, it has to be the id that the record has there\n`,
    );
    await startAnd(async (admin) => {
      for (const { id: rule } of (await access(admin)).rules) await admin.delete(`/svc_permission/${rule}`);
      await admin.delete(`/authors/${id}`);
    });
    const wrong = `everyone: WRONG everyone[0].presets.author: there is no "authors" record with the id ${id}\n`;
    expect(await command("apply", file)).toMatchObject({ code: 1, output: expect.stringContaining(wrong) });
  });

  it("that a change of tables has switched off stay, so that what is pulled is what is there, and an undo brings them back", async () => {
    await writeAll({ roles: [{ name: "clerk", rules: [CHEAP, TITLES] }] });
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    const [{ id, columns }] = await tables(admin);
    const change = { columns: columns.slice(0, 1) };
    const { confirmHash } = (await admin.patch(`/svc_table/${id}`, change)).body.error.details;
    expect((await admin.patch(`/svc_table/${id}?confirm=${confirmHash}`, change)).status).toBe(200);
    expect((await command("pull", file)).code).toBe(0);
    expect((await command("diff", file)).output).toBe("no difference\n");
    expect((await command("apply", file)).code).toBe(0);
    expect((await admin.post(`/svc_table/${id}/undo`)).status).toBe(200);
    expect((await access(admin)).rules).toMatchObject([
      { ...CHEAP, isEnabled: true },
      { ...TITLES, isEnabled: true },
    ]);
  });

  it("for reading that are switched off are told by pull where the file opens more than they do", async () => {
    await writeAll({});
    await startAnd(async (admin) => {
      await makeRole(admin, "clerk", [
        { ...CHEAP, isEnabled: false },
        { ...CHEAP, action: "delete" },
      ]);
    });
    const { code, errors } = await command("pull", file);
    expect([code, errors]).toEqual([
      0,
      'role "clerk": a rule to read "books" is switched off, and so not in the file; where that is applied elsewhere, the rules to update and delete its records reach all of them\n',
    ]);
    expect((await command("pull", file, "--tables")).errors).toBe("");
  });

  it("are told by diff and made by apply; what the file does not name stays", async () => {
    await writeAll({});
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    await makeRole(admin, "clerk", [CHEAP, { ...CHEAP, action: "delete" }]);
    await makeRole(admin, "other", [CHEAP]);
    await admin.post("/svc_permission", { role: null, ...TITLES });
    const before = await access(admin);
    expect((await command("diff", file)).code).toBe(0);
    await writeAll({
      roles: [
        { name: "clerk", description: "Sells.", rules: [CHEAP, TITLES] },
        { name: "new", rules: [TITLES] },
      ],
    });
    const steps = [
      'role "clerk": role.set description',
      'role "clerk": rule.add read books {"fields":"title"}',
      'role "clerk": rule.remove delete books {"filter":{"price":{"_lt":5}}}',
      'role "new": create',
      'role "new": rule.add read books {"fields":"title"}',
      "",
    ].join("\n");
    expect(await command("diff", file)).toMatchObject({ code: 1, output: steps });
    expect(await access(admin)).toEqual(before);
    expect(await command("apply", file)).toMatchObject({ code: 0, output: steps });
    const { roles, rules } = await access(admin);
    const idOf = (name: string) => roles.find((role: { name: string }) => role.name === name).id;
    const [clerk, other, fresh] = ["clerk", "other", "new"].map(idOf);
    expect(
      rules.map((rule: { role: { id: string } | null; fields: string | null }) => [
        rule.role?.id ?? null,
        rule.fields,
      ]),
    ).toEqual([
      [clerk, null],
      [other, null],
      [null, "title"],
      [clerk, "title"],
      [fresh, "title"],
    ]);
    expect((await command("apply", file)).output).toBe("no difference\n");
  });

  it("that do not fit the tables of the file stop all of it, with their places", async () => {
    await writeAll({});
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    const before = [await tables(admin), await access(admin)];
    const isbn = { name: "isbn", type: "string" };
    await writeAll(
      {
        roles: [{ name: "clerk", rules: [TITLES, { ...CHEAP, filter: { isbn: "1", titel: "" } }] }],
        everyone: [{ ...TITLES, action: "create", presets: { price: "dear" }, table: "book" }],
      },
      { ...BOOKS, columns: [...BOOKS.columns, isbn] },
    );
    const { code, output, errors } = await command("apply", file);
    expect([code, errors]).toEqual([1, "Nothing was applied: put right what is marked WRONG first.\n"]);
    expect(output.split("\n").filter((line) => line.includes("WRONG"))).toEqual([
      expect.stringMatching(/^role "clerk": WRONG roles\[0\]\.rules\[1\]\.filter\.titel: .*"title"/),
      expect.stringMatching(/^everyone: WRONG everyone\[0\]\.table: there is no table "book"/),
    ]);
    expect(await refused()).toMatch(/^role "clerk": roles\[0\]\.rules\[1\]\.filter\.titel: /m);
    expect([await tables(admin), await access(admin)]).toEqual(before);
  });

  it("are left alone where a table of the file is refused", async () => {
    await writeAll({});
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    await admin.post("/books", { title: "One", price: 1 });
    await writeAll({ everyone: [TITLES] }, { ...BOOKS, columns: BOOKS.columns.slice(0, 1) });
    expect((await command("apply", file)).code).toBe(1);
    expect((await access(admin)).rules).toEqual([]);
    expect((await command("apply", file, "--confirm")).code).toBe(0);
    expect((await access(admin)).rules).toMatchObject([TITLES]);
  });

  it("follow a table that the same file renames", async () => {
    await writeAll({ everyone: [TITLES] });
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    const before = (await access(admin)).rules;
    await command("pull", file);
    const pulled = await readFile(file, "utf8");
    await writeFile(file, pulled.replaceAll('"books"', '"titles"'));
    expect(await command("diff", file)).toMatchObject({
      code: 1,
      output: 'titles: table.set name "books" -> "titles"\n',
    });
    expect((await command("apply", file)).code).toBe(0);
    expect((await access(admin)).rules).toMatchObject([{ id: before[0].id, table: "titles" }]);
  });

  it("that set a role follow a table and a relation that the same file renames", async () => {
    const relations = [{ name: "owner", type: "many-to-one", table: "svc_role" }];
    const rule = { table: "books", action: "create", presets: { owner: { name: "clerk" } } };
    await writeAll({ roles: [{ name: "clerk", rules: [rule] }] }, { ...BOOKS, relations });
    const service = await start();
    const admin = await signIn(service.url, ADMIN);
    const { roles, rules } = await access(admin);
    await command("pull", file);
    const pulled = await readFile(file, "utf8");
    await writeFile(file, pulled.replaceAll('"books"', '"titles"').replaceAll('"owner"', '"keeper"'));
    expect((await command("apply", file)).output).not.toContain("clerk");
    const after = (await access(admin)).rules;
    expect(after).toMatchObject([{ id: rules[0].id, table: "titles", presets: { keeper: roles[0].id } }]);
    expect((await command("diff", file)).output).toBe("no difference\n");
  });

  it("are made once by four instances that start at once", async () => {
    await writeAll({});
    await startAnd(access);
    const rules = Array.from({ length: 40 }, (_, at) => ({ ...CHEAP, filter: { price: at } }));
    await writeAll({ roles: [{ name: "clerk", rules }], everyone: [TITLES] });
    const [one] = await Promise.all(Array.from({ length: 4 }, start));
    const made = await access(await signIn(one?.url ?? "", ADMIN));
    expect([made.roles.length, made.rules.length]).toEqual([1, 41]);
  });
});
