// `npm run data`: files of records from and to the command line.
import { execFileSync, spawn } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { startUpstream, type Upstream } from "../gateway/support/upstream.js";
import { type Api, asAdmin } from "../support/api.js";
import { projectRoot } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";

let stack: Stack;
let admin: Api;
let folder: string;
let table: string;
let tables = 0;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  folder = await mkdtemp(join(tmpdir(), "portico-data-"));
});
afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  tables += 1;
  table = `posts${tables}`;
  const columns = [
    { name: "title", type: "string" },
    { name: "views", type: "int" },
  ];
  await admin.post("/svc_table", { name: table, idType: "int", columns });
});

const asRoot = () => ({ PORTICO_EMAIL: stack.admin.email, PORTICO_PASSWORD: stack.admin.password });

const data = (words: readonly string[], env: Record<string, string> = asRoot()) =>
  run(process.execPath, [join(projectRoot, "scripts/data.mjs"), ...words], folder, env);

async function run(program: string, words: readonly string[], cwd: string, env: Record<string, string>) {
  const child = spawn(program, [...words], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, APP_URL: stack.appUrl, ...env },
    cwd,
  });
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  return { output, errors, code };
}

async function given(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return name;
}

const titles = async () =>
  (await admin.get(`/${table}`, { limit: "0" })).body.data.map(({ title }: { title: string }) => title);

describe("import", () => {
  it("takes the table from the name of the file, and tells how it goes", async () => {
    const { code, errors } = await data(["import", await given(`${table}.csv`, "title,views\na,1\nb,2\n")]);
    expect(errors).toMatch(/^sent 3 lines, 0\.0 MiB, \d+ lines\/s\n2 records imported\.\n$/);
    expect(code).toBe(0);
    expect(await titles()).toEqual(["a", "b"]);
  });

  it("takes a named table, with an API token", async () => {
    const made = await admin.post("/auth/api-tokens", { name: "data", expiresAt: "never" });
    const file = await given("any.ndjson", '{"title":"a"}\n');
    const { code } = await data(["import", table, file], { PORTICO_TOKEN: made.body.data[0].token });
    expect([code, await titles()]).toEqual([0, ["a"]]);
  });

  it("lists refused lines, says where to go on, and ends with 1", async () => {
    const lines = Array.from({ length: 700 }, (_, at) => `t${at},${at === 600 ? "x" : at}\n`);
    const file = await given(`${table}.csv`, `title,views\n${lines.join("")}`);
    const { code, errors } = await data(["import", file]);
    expect(code).toBe(1);
    expect(errors.split("\n").slice(1)).toEqual([
      'line 602: views: must be a whole number, not "x"',
      `This call has imported 500 records into "${table}". Put the lines right and go on with --from=502`,
      "",
    ]);
    await given(file, `title,views\n${lines.join("").replace(",x", ",0")}`);
    expect((await data(["import", file, "--from=502"])).code).toBe(0);
    expect((await titles()).length).toBe(700);
  });

  it("says where to go on when it has imported nothing", async () => {
    const file = await given(`${table}.csv`, "title,views\na,1\nb,x\n");
    const { code, errors } = await data(["import", file, "--from=3"]);
    expect([code, errors.split("\n").slice(1)]).toEqual([
      1,
      [
        'line 3: views: must be a whole number, not "x"',
        "This call has imported nothing. Put the lines right and go on with --from=3",
        "",
      ],
    ]);
  });

  it("writes nothing in a dry run", async () => {
    const file = await given(`${table}.csv`, "title\na\n");
    expect((await data(["import", file, "--dry-run"])).errors).toContain("1 records would be imported.\n");
    expect(await titles()).toEqual([]);
  });

  it.each([
    [[], "Say what to do: import or export."],
    [["frobnicate", "a"], '"frobnicate" is neither import nor export.'],
    [["constructor", "a"], '"constructor" is neither import nor export.'],
    [["import"], "Name the file to import."],
    [["export", "--limit=1"], "Name the table to export."],
    [["export", "a", "a.csv", "b"], '"b" is one word too many.'],
    [["export", "a", "--nonsense"], "Unknown option '--nonsense'."],
    [["import", "a.csv", "--from"], "Option '--from <value>' argument missing."],
    [["import", "a.csv", "--deleted"], "import takes no --deleted."],
    [["export", "a", "--dry-run"], "export takes no --dry-run."],
    [["import", "posts.txt"], "posts.txt must end in .csv or .ndjson."],
    [["import", "posts.constructor"], "posts.constructor must end in .csv or .ndjson."],
    [
      ["export", "posts", "posts.txt"],
      "posts.txt must end in .csv or .ndjson, unless --format says what it is.",
    ],
    [["export", "a", "--format=constructor"], '--format is csv or ndjson, not "constructor".'],
  ])("%j ends with 2, and is told what is wrong before how it is used", async (words, reason) => {
    const { code, errors } = await data(words);
    expect([code, errors.split("\n").slice(0, 2)]).toEqual([2, [reason, "usage: npm run data -- <command>"]]);
  });

  it.each([
    [["export", "nothing"], 1, 'There is no table "nothing".'],
    [["import", "missing.csv"], 1, "ENOENT"],
  ])("%j ends with %p", async (words, expected, message) => {
    const { code, errors } = await data(words);
    expect([code, errors]).toEqual([expected, expect.stringContaining(message)]);
  });

  it("says what is missing to sign in, and who was refused", async () => {
    const file = await given(`${table}.csv`, "title\na\n");
    expect((await data(["import", file], {})).errors).toContain("Set PORTICO_TOKEN to an API token");
    const wrong = await data(["import", file], { ...asRoot(), PORTICO_PASSWORD: "wrong password" });
    expect([wrong.code, wrong.errors]).toEqual([1, expect.stringContaining("was refused")]);
  });

  it("says that the service can't be reached", async () => {
    const { code, errors } = await data(["export", table], { ...asRoot(), APP_URL: "http://127.0.0.1:9" });
    expect([code, errors]).toEqual([1, expect.stringContaining("can't be reached")]);
  });
});

describe("something else at the address", () => {
  const page = "<html>\n<h1>Bad Gateway</h1>\n</html>";
  let other: Upstream;
  beforeAll(async () => {
    other = await startUpstream();
    for (const line of ["POST /api/auth/login", "GET /api/posts"])
      other.on(line, (_arrived, response) => void response.writeHead(502).end(page));
    const moved = { Location: "https://localhost/" };
    other.on("POST /api/posts/import", (_arrived, response) => void response.writeHead(301, moved).end());
    other.on(
      "GET /api/others",
      (_arrived, response) => void response.writeHead(400).end('{"statusCode":400}'),
    );
  });
  afterAll(() => other.close());

  it.each([
    [
      "a sign-in",
      ["export", "posts"],
      {},
      "502, and not as Portico does: <html> <h1>Bad Gateway</h1> </html>",
    ],
    ["an export", ["export", "posts"], { PORTICO_TOKEN: "t" }, "502, and not as Portico does: <html>"],
    ["an export", ["export", "others"], { PORTICO_TOKEN: "t" }, "400, and not as Portico does: {"],
    ["an import", ["import", "posts.csv"], { PORTICO_TOKEN: "t" }, "301, and not as Portico does: "],
  ])("is told by %s", async (_what, words, env, message) => {
    await given("posts.csv", "title\na\n");
    const { code, errors } = await data(words, { ...asRoot(), ...env, APP_URL: other.url });
    expect([code, errors]).toEqual([1, expect.stringContaining(`${other.url} answered ${message}`)]);
    expect(errors).not.toContain("    at ");
  });

  const NOT_SAID = "The database did not say whether this was written.";
  it.each([
    [
      "of which nobody knows whether it is there",
      { uncertain: true, imported: 0, dryRun: false, next: 2 },
      "Whether the records from line 2 on were written is not known: look before you go on.",
    ],
    [
      "of which nobody knows whether it is there, after others",
      { uncertain: true, imported: 500, dryRun: false, next: 502 },
      'This call has imported 500 records into "batches". Whether the records from line 502 on were written is not known: look before you go on.',
    ],
    [
      "that no line has stopped",
      { imported: 500, dryRun: false, next: 502 },
      'This call has imported 500 records into "batches"; when the above allows it, go on with --from=502',
    ],
    [
      "that no line has stopped, of which some is still to be taken back",
      { imported: 0, dryRun: false, next: 2 },
      "This call has imported nothing; when the above allows it, go on with --from=2",
    ],
  ])(
    "that answers an import with a batch %s is not said to want other lines",
    async (_what, details, last) => {
      const body = { statusCode: 503, message: NOT_SAID, error: { code: "SERVICE_UNAVAILABLE", details } };
      other.on(
        "POST /api/batches/import",
        (_arrived, response) => void response.writeHead(503).end(JSON.stringify(body)),
      );
      const file = await given("batches.csv", "title\na\n");
      const { code, errors } = await data(["import", file], { PORTICO_TOKEN: "t", APP_URL: other.url });
      expect([code, errors.split("\n").slice(1)]).toEqual([1, [NOT_SAID, last, ""]]);
    },
  );

  it.each([
    ["a page for every address", "text/html", "<h1>App</h1>"],
    ["JSON", "application/json", '{"statusCode":200,"data":[]}'],
    ["a file of another kind", "application/x-ndjson", '{"title":"a"}'],
    ["nothing", "", ""],
  ])("that answers 200 with %s leaves the file as it is", async (_what, type, body) => {
    other.on(
      "GET /api/pages",
      (_arrived, response) => void response.writeHead(200, { "Content-Type": type }).end(body),
    );
    const file = await given("pages.csv", "before");
    const env = { PORTICO_TOKEN: "t", APP_URL: other.url };
    const into = await data(["export", "pages", file], env);
    expect(into).toEqual({
      code: 1,
      output: "",
      errors: `${other.url} answered 200, and not as Portico does: ${body}\n`,
    });
    expect(await readFile(join(folder, file), "utf8")).toBe("before");
    expect(await data(["export", "pages"], env)).toEqual(into);
  });
});

describe("an import that is cut off", () => {
  let other: Upstream;
  beforeAll(async () => {
    other = await startUpstream();
    other.on("POST /api/posts/import", (_arrived, response) => void response.destroy());
  });
  afterAll(() => other.close());

  it.each([
    [
      "may still go on: what is there is counted later",
      [],
      ' Whole batches of what was sent are kept, and it may still go on: count the records of "posts" when their number stands still.',
    ],
    ["keeps nothing in a dry run", ["--dry-run"], ""],
  ])("%s", async (_what, words, stays) => {
    const file = await given("posts.csv", "title\na\n");
    const env = { PORTICO_TOKEN: "t", APP_URL: other.url };
    const { code, errors } = await data(["import", file, ...words], env);
    const [, told] = errors.split("\n");
    expect([code, told?.replace(/^The import was cut off: \w+\./, "")]).toEqual([1, stays]);
  });
});

describe("an address without http:// or https://", () => {
  it.each([[["export", "posts"]], [["import", "posts.csv"]]])("is no place for %j", async (words) => {
    await given("posts.csv", "title\na\n");
    for (const env of [asRoot(), { PORTICO_TOKEN: "t" }]) {
      const { code, errors } = await data(words, { ...env, APP_URL: "localhost:3000" });
      expect([code, errors]).toEqual([
        1,
        '"localhost:3000" is no address of a service: it must begin with http:// or https://.\n',
      ]);
    }
  });
});

describe("export", () => {
  beforeEach(async () => {
    await admin.post(`/${table}`, [{ title: "a" }, { title: "b" }]);
  });

  it("writes to standard output", async () => {
    const { code, output } = await data(["export", table, "--fields", "title", "--sort=-title"]);
    expect([code, output]).toEqual([0, "title\r\nb\r\na\r\n"]);
  });

  it("writes nothing else there when npm is silent, as the docs call it", async () => {
    const words = "run --silent data -- export".split(" ");
    const docs = await readFile(join(projectRoot, "docs/api.md"), "utf8");
    expect(docs).toContain(`npm ${words.join(" ")} posts > posts.csv`);
    const { code, output } = await run("npm", [...words, table], projectRoot, asRoot());
    expect([code, output.split("\r\n").at(0)]).toEqual([0, expect.stringMatching(/^id,/)]);
  });

  it("writes a file in the format of its ending, under its name only when it is whole", async () => {
    const filter = JSON.stringify({ title: "b" });
    await data(["export", table, `${table}.ndjson`, "--fields", "title", "--filter", filter]);
    expect(await readFile(join(folder, `${table}.ndjson`), "utf8")).toBe('{"title":"b"}\n');
    expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it("looks whether the file can be written before it asks for anything", async () => {
    const { code, errors } = await data(["export", table, "no/such/folder/out.csv"]);
    expect([code, errors]).toEqual([1, "no/such/folder/out.csv can't be written (ENOENT).\n"]);
  });

  it("leaves the file as it is when the export is refused", async () => {
    const file = await given("kept.csv", "before");
    expect((await data(["export", "nothing", file])).code).toBe(1);
    expect(await readFile(join(folder, file), "utf8")).toBe("before");
    expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it("replaces what a link leads to, and the link stays", async () => {
    const [real, link] = [await given("real.csv", "before"), "link.csv"];
    await symlink(real, join(folder, link));
    expect((await data(["export", table, link, "--fields=title"])).code).toBe(0);
    expect(await readlink(join(folder, link))).toBe(real);
    expect(await readFile(join(folder, real), "utf8")).toBe("title\r\na\r\nb\r\n");
    expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it("writes to a pipe what its reader waits for, and the pipe stays", async () => {
    const pipe = join(folder, "pipe.csv");
    execFileSync("mkfifo", [pipe]);
    const reader = spawn("cat", [pipe]);
    try {
      const read = text(reader.stdout);
      expect((await data(["export", table, pipe, "--fields=title"])).code).toBe(0);
      expect((await lstat(pipe)).isFIFO()).toBe(true);
      expect(await read).toBe("title\r\na\r\nb\r\n");
    } finally {
      reader.kill();
    }
  });

  it("refuses a link to nothing and a folder before it asks for anything", async () => {
    await symlink("nowhere.csv", join(folder, "lost.csv"));
    await mkdir(join(folder, "folder.csv"));
    const told = [];
    for (const path of ["lost.csv", "folder.csv"]) told.push((await data(["export", table, path])).errors);
    expect(told).toEqual([
      "lost.csv can't be written (ENOENT).\n",
      "folder.csv can't be written (EISDIR).\n",
    ]);
  });

  it("gives what import takes", async () => {
    const file = `${table}.csv`;
    await data(["export", table, file]);
    const columns = [
      { name: "title", type: "string" },
      { name: "views", type: "int" },
    ];
    await admin.post("/svc_table", { name: `${table}_copy`, idType: "int", columns });
    expect((await data(["import", `${table}_copy`, file])).code).toBe(0);
    const [of, copy] = await Promise.all([admin.get(`/${table}`), admin.get(`/${table}_copy`)]);
    expect(copy.body.data).toEqual(of.body.data);
  });

  it("takes deleted records along when it is told to, so that a copy has them as well", async () => {
    const [name, copy] = [`${table}_kept`, `${table}_kept_copy`];
    const columns = [{ name: "title", type: "string" }];
    for (const each of [name, copy])
      await admin.post("/svc_table", { name: each, idType: "int", softDelete: true, columns });
    await admin.post(`/${name}`, [{ title: "a" }, { title: "b" }]);
    await admin.delete(`/${name}/1`);
    const living = await data(["export", name, "--fields", "title"]);
    expect([living.code, living.output]).toEqual([0, "title\r\nb\r\n"]);
    const file = `${name}.ndjson`;
    expect((await data(["export", name, file, "--deleted"])).code).toBe(0);
    expect((await data(["import", copy, file])).code).toBe(0);
    const all = { deleted: "with" };
    const [of, others] = await Promise.all([admin.get(`/${name}`, all), admin.get(`/${copy}`, all)]);
    expect(others.body.data).toHaveLength(2);
    expect(others.body.data).toEqual(of.body.data);
    // A table that keeps none may have links to some.
    expect((await data(["export", table, "--deleted"])).code).toBe(0);
    expect((await data(["import", file, "--deleted"])).code).toBe(2);
  });
});
