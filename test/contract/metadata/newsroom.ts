// A small world with three kinds of callers: root, a role that may do some things, and anonymous visitors.
import { type Api, apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";

export interface Newsroom {
  readonly stack: Stack;
  readonly root: Api;
  readonly writer: Api;
  /** An access token of the writer. */
  readonly writerToken: string;
  readonly visitor: Api;
}

export const WRITER = { email: "writer@example.com", password: "a writer's password" };

const COLUMNS = [
  { name: "title", type: "string", required: true, rules: { minLength: 3, maxLength: 80 } },
  { name: "status", type: "enum", options: { values: ["draft", "live"] }, required: true },
  { name: "topics", type: "enumList", options: { values: ["art", "food"] }, rules: { maxItems: 2 } },
  { name: "price", type: "decimal", rules: { min: "0", max: "99.90" }, description: "In euros. */ not code" },
  { name: "count", type: "int", default: 1, rules: { min: 0 } },
  { name: "code", type: "string", rules: { pattern: "^(?P<area>\\w+)-\\d+$" } },
  ...["bigint", "float", "boolean", "date", "datetime", "json", "uuid", "objectId", "text"].map((type) => ({
    name: `a_${type}`,
    type,
  })),
  { name: "wages", type: "int" },
  { name: "sealed", type: "string", encrypted: true },
  { name: "memo", type: "string", hidden: true },
  { name: "franked", type: "string", readOnly: true },
];

/** `articles` of `desks`; a writer sees and writes some of it, a visitor may only send `letters`. */
export async function openNewsroom(): Promise<Newsroom> {
  const stack = await startStack();
  const root = await asAdmin(stack);
  await makeTable(root, {
    name: "desks",
    idType: "int",
    columns: [{ name: "name", type: "string", unique: true }],
  });
  await makeTable(root, { name: "vaults", idType: "uuid", columns: [{ name: "treasure", type: "string" }] });
  await makeTable(root, {
    name: "articles",
    description: "What the paper prints.",
    columns: COLUMNS,
    uniques: [["title", "wages"]],
    relations: [
      { name: "desk", type: "many-to-one", table: "desks", inverse: "articles", required: true },
      { name: "sources", type: "many-to-many", table: "articles", inverse: "quotedBy" },
      { name: "vault", type: "many-to-one", table: "vaults", inverse: "articles" },
    ],
  });
  await makeTable(root, { name: "relics", idType: "mixed", columns: [{ name: "name", type: "string" }] });
  await makeTable(root, { name: "letters", columns: [{ name: "text", type: "text", required: true }] });
  await writeRules(root);
  const visitor = apiOf(`${stack.appUrl}/api`);
  const { accessToken: writerToken } = (await visitor.post("/auth/login", WRITER)).body;
  const writer = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${writerToken}` });
  return { stack, root, writer, writerToken, visitor };
}

async function writeRules(root: Api): Promise<void> {
  const { id: role } = await make(root, "svc_role", { name: "Writer" });
  await make(root, "svc_user", { ...WRITER, name: "Wanda", role });
  const seen = "title,status,topics,price,count,desk,sources,vault";
  const rules = [
    { action: "read", fields: seen },
    { action: "read", fields: "a_date", filter: { status: "live" } },
    { action: "create", fields: "title,price,count,desk,memo", presets: { status: "draft" } },
    { action: "update", fields: "title,price", filter: { status: "draft" } },
  ].map((rule) => ({ role, table: "articles", ...rule }));
  await make(root, "svc_permission", { role, table: "desks", action: "read" });
  for (const rule of rules) await make(root, "svc_permission", rule);
  await make(root, "svc_permission", { role: null, table: "letters", action: "create" });
}
