// GET /types.ts: the tables as TypeScript, for whoever asks; `npm run types` and the example that uses them.
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { startUpstream } from "../../gateway/support/upstream.js";
import { asAdmin } from "../../support/api.js";
import { compile, run } from "../../support/compile.js";
import { projectRoot } from "../../support/run-state.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";
import { type Newsroom, openNewsroom } from "./newsroom.js";

jest.setTimeout(240_000);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-types-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function tokenOf(stack: Stack, readOnly = false): Promise<string> {
  const body = { name: "types", expiresAt: "never", readOnly };
  return (await (await asAdmin(stack)).post("/auth/api-tokens", body)).body.data[0].token;
}

async function typesFor(stack: Stack, token?: string): Promise<string> {
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(`${stack.appUrl}/api/types.ts`, { headers });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  return response.text();
}

/** Compiles the types with a program that uses them. @returns what the compiler says */
async function check(types: string, program: string): Promise<string> {
  await writeFile(join(folder, "tables.ts"), types);
  await writeFile(join(folder, "program.ts"), program);
  return (await compile(folder)).output;
}

const ROOT_PROGRAM = `
import type { CreateOf, FilterOf, Linked, RecordOf, TableName, UpdateOf } from "./tables.js";

export const names: TableName[] = ["articles", "desks", "vaults", "svc_user"];
export const article: CreateOf<"articles"> = { title: "a", status: "live", desk: 1, topics: ["art"], price: null };
export const linked: CreateOf<"articles"> = { ...article, desk: { id: 1 }, sources: ["id", { id: "id" }] };
export const update: UpdateOf<"articles"> = { count: 3 };
export const within: CreateOf<"desks"> = { name: "a", articles: ["id", { title: "a", status: "live", sources: [article] }] };
export const around: UpdateOf<"articles"> = { desk: { name: "new" }, vault: { treasure: "gold" } };
// @ts-expect-error the desk around it is its desk
export const back: CreateOf<"desks"> = { articles: [{ title: "a", status: "live", desk: 1 }] };
export const filters: FilterOf<"articles">[] = [
  { title: "a", count: { _gte: 1, _between: [1, 2] }, _or: [{ desk: { name: { _contains: "x" } } }] },
  { desk: 1, topics: { _contains: "art" }, a_json: null, _not: { sources: { _is_null: true } } },
  { desk: { _in: [1, 2] }, status: { _in: ["live"] }, vault: null },
];
export function words(record: RecordOf<"articles">): string {
  const desk: Linked<"desks"> | null = record.desk;
  const inner: string | null | undefined = desk?.name;
  return record.title + record.status.toUpperCase() + (record.price ?? "") + inner + record.sources?.[0]?.title;
}
export const number = ({ _count }: RecordOf<"articles">): number | undefined => _count?.sources;
// @ts-expect-error a desk is one
export const notCounted = ({ _count }: RecordOf<"articles">): unknown => _count?.desk;
// @ts-expect-error it is counted, not written
export const written: UpdateOf<"articles"> = { _count: { sources: 1 } };
// @ts-expect-error it has no desk
export const missing: CreateOf<"articles"> = { title: "a", status: "live" };
// @ts-expect-error there is no such member
export const member: CreateOf<"articles"> = { ...article, status: "other" };
// @ts-expect-error a number is not text
export const filter: FilterOf<"articles"> = { title: 5 };
// @ts-expect-error whole numbers hold no text
export const operator: FilterOf<"articles"> = { count: { _contains: "1" } };
// @ts-expect-error what is encrypted can't be compared
export const sealed: FilterOf<"articles"> = { sealed: "x" };
// @ts-expect-error the service alone writes it
export const franked: CreateOf<"articles"> = { ...article, franked: "x" };
export const folder: CreateOf<"svc_folder"> = { name: "Photos" };
// @ts-expect-error a folder has a name
export const nameless: CreateOf<"svc_folder"> = { slug: "photos" };
export const uploaded: [CreateOf<"svc_file">] extends [never] ? true : false = true;
export const renamed: UpdateOf<"svc_file"> = { filename: "a.txt", folder: { name: "Photos" } };
export const rule: CreateOf<"svc_permission"> = { table: "books", action: "read", role: { name: "readers" } };
export const open: CreateOf<"svc_permission"> = { table: "books", action: "read", role: null };
// @ts-expect-error a rule says whose it is
export const whose: CreateOf<"svc_permission"> = { table: "books", action: "read" };
export const moved: UpdateOf<"svc_permission"> = { role: { id: "id" } };
export const everybodys: UpdateOf<"svc_permission"> = { role: null };
// @ts-expect-error a change of a rule makes no role
export const refused: UpdateOf<"svc_permission"> = { role: { name: "readers" } };
export const table: CreateOf<"svc_table"> = { name: "books", columns: [{ name: "title", type: "string" }] };
// @ts-expect-error the password is never read
export const password = (record: RecordOf<"svc_user">): unknown => record.password;
`;

const JSON_PROGRAM = `
import type { CreateOf, RecordOf, UpdateOf } from "./tables.js";
export const forms: CreateOf<"forms">[] = [
  { answers: { a: null }, notes: null },
  { answers: [null, 1] },
  { answers: false, notes: "" },
];
// @ts-expect-error the API refuses it
export const refused: CreateOf<"forms"> = { answers: null };
// @ts-expect-error the API refuses it
export const refusedToo: UpdateOf<"forms"> = { answers: null };
export const isNull = ({ answers, notes }: RecordOf<"forms">): [null extends typeof answers ? 1 : 0, null extends typeof notes ? 1 : 0] => [0, 1];
`;

const VISITOR_PROGRAM = `
import type { CreateOf, RecordOf, TableName, UpdateOf } from "./tables.js";
export const all: TableName extends "letters" ? true : false = true;
export const letter: CreateOf<"letters"> = { text: "Dear paper" };
export const id: keyof RecordOf<"letters"> = "id";
export const none: UpdateOf<"letters"> extends never ? true : false = true as never;
`;

const WRITER_PROGRAM = `
import type { Me, TableName } from "./tables.js";
export const words = ({ email, name, role, pitches, _count }: Me): string =>
  email.trim() + (name ?? "") + (role?.name ?? "") + (pitches?.[0]?.text ?? "") + (_count?.pitches ?? 0);
// @ts-expect-error the password is never read
export const password = (me: Me): unknown => me.password;
export const noRoles: Extract<TableName, "svc_role"> extends never ? true : false = true;
`;

describe("GET /types.ts", () => {
  let room: Newsroom;
  beforeAll(async () => {
    room = await openNewsroom();
  });
  afterAll(() => room?.stack.stop());

  it("gives root types that hold under strict, and refuse what the API refuses", async () => {
    expect(await check(await typesFor(room.stack, await tokenOf(room.stack)), ROOT_PROGRAM)).toBe("");
  });

  it("lets a JSON column be null only where it may be", async () => {
    const columns = [
      { name: "answers", type: "json", required: true },
      { name: "notes", type: "json" },
    ];
    await makeTable(room.root, { name: "forms", columns });
    expect(await check(await typesFor(room.stack, await tokenOf(room.stack)), JSON_PROGRAM)).toBe("");
  });

  it("gives a visitor what visitors may do and nothing more", async () => {
    const types = await typesFor(room.stack);
    expect(await check(types, VISITOR_PROGRAM)).toBe("");
    expect(types).not.toMatch(/articles|desks|vaults|svc_/);
  });

  it("gives users what `/me` shows of them and of their role, whatever else they may read", async () => {
    const owner = { name: "owner", type: "many-to-one", table: "svc_user", inverse: "pitches" };
    const columns = [{ name: "text", type: "string" }];
    await makeTable(room.root, { name: "pitches", columns, relations: [owner] });
    await make(room.root, "svc_permission", { role: null, table: "pitches", action: "read" });
    // A rule that shows less of others takes nothing from oneself.
    await make(room.root, "svc_permission", {
      role: null,
      table: "svc_user",
      action: "read",
      fields: "name",
    });
    const types = await typesFor(room.stack, room.writerToken);
    expect(await check(types, WRITER_PROGRAM)).toBe("");
  });

  it("gives nothing to write to a token that is read-only", async () => {
    const types = await typesFor(room.stack, await tokenOf(room.stack, true));
    expect(types).toContain("create: never;");
    expect(types).not.toMatch(/(?:create|update): \{|password/);
  });

  it("says first whose rights it shows, so that a `never` puzzles nobody", async () => {
    const first = async (token?: string) => (await typesFor(room.stack, token)).split("\n", 1)[0];
    expect([
      await first(),
      await first(room.writerToken),
      await first(await tokenOf(room.stack, true)),
      await first(await tokenOf(room.stack)),
    ]).toEqual([
      "// The tables of this Portico as visitors may use them: what no rule lets everyone do is `never`.",
      "// The tables of this Portico as one of its users may use them: what no rule lets them do is `never`.",
      "// The tables of this Portico as a read-only API token may use them: `create` and `update` are `never`.",
      "// The tables of this Portico as a root admin may use them.",
    ]);
  });

  it("gives the same text for the same tables", async () => {
    const token = await tokenOf(room.stack);
    expect(await typesFor(room.stack, token)).toBe(await typesFor(room.stack, token));
  });
});

describe("npm run types", () => {
  const SCRIPT = "scripts/types.mjs";
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ demo: true });
  });
  afterAll(() => stack?.stop());

  it("writes the file of examples/spa, which is what the demo's tables give", async () => {
    const file = join(folder, "tables.ts");
    const env = { PORTICO_TOKEN: await tokenOf(stack) };
    expect(await run([SCRIPT, "--url", stack.appUrl, file], env)).toEqual({
      code: 0,
      output: "",
      errors: "The tables of this Portico as a root admin may use them.\n",
    });
    const committed = await readFile(join(projectRoot, "examples/spa/tables.ts"), "utf8");
    expect(await readFile(file, "utf8")).toBe(committed);
  });

  it("says of a read-only token that its types let nothing be written", async () => {
    const env = { PORTICO_TOKEN: await tokenOf(stack, true) };
    const { errors } = await run([SCRIPT, "--url", stack.appUrl, join(folder, "tables.ts")], env);
    expect(errors).toMatch(/ a read-only API token may use them: `create` and `update` are `never`\.\n$/);
  });

  it.each([{}, { PORTICO_TOKEN: "" }])(
    "prints a visitor's types without a token, and says so: %j",
    async (env) => {
      const { code, output, errors } = await run([SCRIPT], { APP_URL: stack.appUrl, ...env });
      expect([code, output]).toEqual([0, await typesFor(stack)]);
      expect(errors).toMatch(
        /as visitors may use them: .* Set PORTICO_TOKEN to an API token for others\.\n$/,
      );
    },
  );

  it("prints nothing else when npm is silent, as the docs call it", async () => {
    const command = "npm run --silent types";
    expect(await readFile(join(projectRoot, "docs/api.md"), "utf8")).toContain(`\`${command} > tables.ts\``);
    const [program = "", ...words] = command.split(" ");
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, APP_URL: stack.appUrl };
    const { stdout } = await promisify(execFile)(program, words, { cwd: projectRoot, env });
    expect(stdout).toBe(await typesFor(stack));
  });

  it("takes empty settings for none", async () => {
    const { port } = new URL(stack.appUrl);
    const { code, output } = await run([SCRIPT], { APP_URL: "", PORT: port });
    expect([code, output]).toEqual([0, await typesFor(stack)]);
  });

  it.each([
    [
      "an address where nothing is",
      ["--url", "http://127.0.0.1:9"],
      {},
      "There is no Portico at http://127.0.0.1:9.",
    ],
    [
      "an address that says not how to get there",
      ["--url", "localhost:3000"],
      {},
      '"localhost:3000" is no address of a service: it must begin with http:// or https://.',
    ],
    ["a token that is none", [], { PORTICO_TOKEN: "svc_pat_no" }, "answered 401"],
  ])("refuses %s", async (_what, args, env, words) => {
    const { code, errors } = await run([SCRIPT, ...args], { APP_URL: stack.appUrl, ...env });
    expect([code, errors]).toEqual([1, expect.stringContaining(words)]);
  });

  it.each([
    ["--help", "Unknown option '--help'.\n"],
    ["tables.ts more.ts", '"more.ts" is one word too many.\n'],
  ])("says how it is called when it is called wrongly: %s", async (words, problem) => {
    const { code, errors } = await run([SCRIPT, ...words.split(" ")], { APP_URL: stack.appUrl });
    expect([code, errors]).toEqual([2, expect.stringContaining(`${problem}Use: npm run types -- `)]);
  });

  it("leaves to the file whom it may be read and written by, also beyond what new files are", async () => {
    const file = join(folder, "tables.ts");
    await writeFile(file, "before");
    for (const mode of [0o600, 0o666]) {
      await chmod(file, mode);
      expect((await run([SCRIPT, "--url", stack.appUrl, file], {})).code).toBe(0);
      expect((await stat(file)).mode & 0o777).toBe(mode);
    }
  });

  it("leaves the file as it is where the disk is full, and no part of another beside it", async () => {
    const file = join(folder, "tables.ts");
    await writeFile(file, "before");
    // To a process, one that lets no file grow is as full as another.
    const words = [
      "-c",
      'ulimit -f 0 && exec "$0" "$@"',
      process.execPath,
      SCRIPT,
      "--url",
      stack.appUrl,
      file,
    ];
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const full = promisify(execFile)("sh", words, { cwd: projectRoot, env });
    await expect(full).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${file} can't be written (EFBIG).\n`),
    });
    expect([await readdir(folder), await readFile(file, "utf8")]).toEqual([["tables.ts"], "before"]);
  });

  it.each([
    ["a page for every address", "text/html", "<h1>App</h1>"],
    ["text of its own", "text/plain", "// Types of an app"],
  ])("leaves the file as it is where another program answers with %s", async (_what, type, body) => {
    const other = await startUpstream();
    other.on("GET /api/types.ts", (_arrived, response) => {
      response.writeHead(200, { "Content-Type": type }).end(body);
    });
    const file = join(folder, "tables.ts");
    await writeFile(file, "before");
    try {
      expect(await run([SCRIPT, "--url", other.url, file], {})).toEqual({
        code: 1,
        output: "",
        errors: `${other.url}/api/types.ts answered 200, and not as Portico does: ${body}\n`,
      });
    } finally {
      await other.close();
    }
    expect(await readFile(file, "utf8")).toBe("before");
  });
});
