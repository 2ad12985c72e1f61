// Records that hide much in their rows: texts of 1 MB, and links to such texts. Whoever reads them sees none of it.
import { startDataService } from "../oracle/harness.js";
import { type Answer, type Api, accepted, type Query, signIn } from "../support/api.js";

const READER = { email: "reader@example.com", password: "reader's password" };

/** So many that what they hide is more than an answer may hold. */
const RECORDS = 40;
const LARGE = "x".repeat(1_000_000);

/** Each box has a note on top and a page pinned to it; all notes and pages are in the first one, and it picks all pages. */
const TABLES = [
  { name: "pages", idType: "int", columns: [{ name: "text", type: "text" }], relations: [] },
  {
    name: "boxes",
    idType: "int",
    columns: [
      { name: "n", type: "int" },
      { name: "mine", type: "boolean" },
    ],
    relations: [
      { name: "pin", type: "many-to-one", table: "pages" },
      { name: "picks", type: "many-to-many", table: "pages", inverse: "pickers" },
    ],
  },
  {
    name: "notes",
    idType: "int",
    columns: [
      { name: "n", type: "int" },
      { name: "mine", type: "boolean" },
      { name: "secret", type: "text" },
    ],
    relations: [{ name: "box", type: "many-to-one", table: "boxes", inverse: "notes" }],
  },
];

/** Notes hide a text in every row, boxes their pages. */
const RULES = [
  { table: "pages", fields: "id,text" },
  { table: "notes", fields: "id,n,box" },
  { table: "notes", fields: "id,secret", filter: { mine: true } },
  { table: "boxes", fields: "id,n,top,notes" },
  { table: "boxes", fields: "id,pin,picks,pages", filter: { mine: true } },
];

const SHOWN: Query = { fields: "n", sort: "id" };
const EVERY = { limit: String(RECORDS) };
const ALL = { limit: "0" };

const deep = (relation: string, limit: number): Query => ({ deep: { [relation]: { limit } } });

/** What is asked for, on every road by which related records come into an answer. */
const REQUESTS: Readonly<Record<string, readonly [path: string, query: Query]>> = {
  "a page with what it links to": ["/boxes", { ...SHOWN, ...EVERY, fields: "n,top.*" }],
  "all with what they link to": ["/boxes", { ...SHOWN, ...ALL, fields: "n,top.*" }],
  "a file": ["/boxes", { ...SHOWN, fields: "n,top.n,top.secret", format: "csv" }],
  "a record with all that link to it": ["/boxes/1", { fields: "n", ...deep("notes", 0) }],
  "a page with all that link to it": ["/boxes", { ...SHOWN, ...deep("notes", 0) }],
  "a page with hidden links": ["/boxes", { ...SHOWN, ...EVERY, fields: "n,pin.*" }],
  "a record with a hidden link": ["/boxes/1", { fields: "n,pin.*" }],
  "a page with some of hidden lists": ["/boxes", { ...SHOWN, ...EVERY, ...deep("picks", RECORDS) }],
  "a page with hidden lists": ["/boxes", { ...SHOWN, ...deep("picks", 0) }],
  "a record with a hidden list": ["/boxes/1", { fields: "n", ...deep("picks", 0) }],
  "a page with some hidden to link to it": ["/boxes", { ...SHOWN, ...EVERY, ...deep("pages", RECORDS) }],
  "a page with all hidden to link to it": ["/boxes", { ...SHOWN, ...deep("pages", 0) }],
  "a record with all hidden to link to it": ["/boxes/1", { fields: "n", ...deep("pages", 0) }],
  "a page with hidden numbers": ["/boxes", { ...SHOWN, fields: "n,_count(pages),_count(picks)" }],
};

/** @returns what the reader is answered while much is hidden, and when nothing is there that is hidden */
export async function answersBesideLargeUnseen(): Promise<{
  readonly much: Readonly<Record<string, unknown>>;
  readonly none: Readonly<Record<string, unknown>>;
}> {
  const { api: root, url, stop } = await startDataService();
  try {
    await build(root);
    const reader = await signIn(url, READER);
    const much = await answers(reader);
    await empty(root);
    return { much, none: await answers(reader) };
  } finally {
    await stop();
  }
}

async function build(root: Api): Promise<void> {
  for (const table of TABLES) await made(root.post("/svc_table", table));
  const boxes = await made(root.get("/svc_table", { filter: { name: "boxes" } }));
  const top = { name: "top", type: "many-to-one", table: "notes" };
  await made(root.patch(`/svc_table/${boxes.id}`, { relations: [...boxes.relations, top] }));
  const pages = await made(root.get("/svc_table", { filter: { name: "pages" } }));
  const box = { name: "box", type: "many-to-one", table: "boxes", inverse: "pages" };
  await made(root.patch(`/svc_table/${pages.id}`, { relations: [...pages.relations, box] }));
  const { id: role } = await made(root.post("/svc_role", { name: "reader" }));
  await made(root.post("/svc_user", { ...READER, role }));
  await made(
    root.post(
      "/svc_permission",
      RULES.map((rule) => ({ role, action: "read", ...rule })),
    ),
  );
  await made(root.post("/svc_permission", { role, table: "boxes", action: "update", fields: "n" }));
  await made(root.post("/boxes", { n: 1, mine: false }));
  for (let n = 1; n <= RECORDS; n += 1) {
    const { id: note } = await made(root.post("/notes", { n, mine: false, secret: LARGE, box: 1 }, ID));
    const { id: page } = await made(root.post("/pages", { text: LARGE, box: 1 }, ID));
    const links = { top: note, pin: page };
    await made(n === 1 ? root.patch("/boxes/1", links) : root.post("/boxes", { n, mine: false, ...links }));
  }
  const picks = Array.from({ length: RECORDS }, (_, at) => at + 1);
  await made(root.patch("/boxes/1", { picks }));
}

const ID: Query = { fields: "id" };

/** Takes away all that the reader does not see. */
async function empty(root: Api): Promise<void> {
  for (let id = 1; id <= RECORDS; id += 1) {
    await made(root.patch(`/notes/${id}`, { secret: null }, ID));
    await made(root.patch(`/pages/${id}`, { box: null }, ID));
    await made(root.patch(`/boxes/${id}`, { pin: null, picks: [] }, ID));
  }
}

async function answers(reader: Api): Promise<Record<string, unknown>> {
  const told: Record<string, unknown> = {};
  for (const [name, [path, query]] of Object.entries(REQUESTS))
    told[name] = tellable(await reader.get(path, query));
  const written = await reader.patch("/boxes/1", { n: 1 }, { fields: "n", ...deep("notes", 0) });
  return { ...told, "a write": tellable(written) };
}

function tellable({ status, body }: Answer): unknown {
  return status === 200 ? [status, body.data ?? body] : [status, body.message];
}

async function made(answer: Promise<Answer>): Promise<Answer["body"]> {
  return (await accepted(answer))[0];
}
