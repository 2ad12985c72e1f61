// R3: requests made from the OpenAPI document, fitting and not, by root, by a member, by nobody: no answer is a fault
// of ours, none is late, and none is other than the document says (test/support/documented.ts looks at that).
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Api, asAdmin } from "../support/api.js";
import { filePart, MULTIPART, multipartBody, textPart } from "../support/multipart.js";
import { loggedByNow } from "../support/process-facts.js";
import { roleFor } from "../support/rules.js";
import { type Stack, startStack } from "../support/stack.js";
import { Client, type Outcome } from "./support/client.js";
import { type Odd, type Schema, valuesOf } from "./support/from-schema.js";
import { size } from "./support/notes-system.js";

const RUNS = size(500, 100_000);
const SEED = process.env.PORTICO_FUZZ_SEED;
const MINUTES = 60_000;
const PASSWORD = "correct horse battery";

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema?: Schema & { readonly contentSchema?: Schema };
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>;
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  readonly as: "root" | "member" | "nobody";
}

let stack: Stack;
let client: Client;
let requests: fc.Arbitrary<FuzzRequest>;
const tokens = new Map<string, string>();

beforeAll(async () => {
  // An address of its own for each request: here the limits of one would end all. No shedding, so that each 5xx counts.
  stack = await startStack({
    env: { TRUST_PROXY: "loopback", MAX_EVENT_LOOP_DELAY_MS: "0", MAX_WAIT_MS: "0" },
  });
  const admin = await asAdmin(stack);
  const ids = await fill(admin);
  const { body: document } = await admin.get("/openapi.json");
  requests = requestsOf(document, ids);
  client = new Client(`${stack.appUrl}/api`);
}, 2 * MINUTES);

afterAll(async () => {
  client.close();
  await stack.stop();
});

/** A table with every type, a related one, people. @returns ids that exist */
async function fill(admin: Api): Promise<string[]> {
  const types = [
    "string",
    "text",
    "int",
    "bigint",
    "float",
    "decimal",
    "boolean",
    "date",
    "datetime",
    "json",
    "uuid",
  ];
  const columns = types.map((type) => ({ name: `${type}Value`, type }));
  const made = [
    await admin.post("/svc_table", { name: "notes", columns, changes: true, history: true }),
    await admin.post("/svc_table", {
      name: "comments",
      columns: [
        { name: "text", type: "string", unique: true },
        { name: "kind", type: "enum", options: ["good", "bad"] },
      ],
      relations: [{ name: "note", type: "many-to-one", table: "notes", inverse: "comments" }],
    }),
    await admin.post("/notes", [
      { stringValue: "one" },
      { stringValue: "two", comments: [{ text: "first" }] },
    ]),
  ];
  const role = await roleFor(admin, "member", ["notes", "comments", "svc_file"]);
  made.push(await admin.post("/svc_user", { email: "member@example.com", password: PASSWORD, role }));
  made.push(
    await admin.post("/svc_user", { email: "root@example.com", password: PASSWORD, isRootAdmin: true }),
  );
  for (const { status, body } of made) if (status !== 201) throw new Error(JSON.stringify(body));
  // Not those of the people who ask.
  return [...made.slice(0, 3).flatMap(({ body }) => body.data.map(({ id }: { id: string }) => id)), role];
}

function requestsOf(document: Document, ids: readonly string[]): fc.Arbitrary<FuzzRequest> {
  const all = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation.responses !== undefined && !isStream(operation))
      .flatMap(([method, operation]) =>
        ([0, 1] as const).map((odd) => requestOf(document, ids, { path, method, operation, odd })),
      ),
  );
  return fc.oneof(...all);
}

/** Has no end of its own; test/contract/changes has it. */
function isStream({ responses }: Operation): boolean {
  return Object.values(responses).some(({ content = {} }) => "text/event-stream" in content);
}

function requestOf(
  { components }: Document,
  ids: readonly string[],
  about: { path: string; method: string; operation: Operation; odd: Odd },
): fc.Arbitrary<FuzzRequest> {
  const { path, method, odd } = about;
  const { parameters = [], requestBody } = about.operation;
  const known = parameters.map((each) => components.parameters[each.$ref?.split("/").at(-1) ?? ""] ?? each);
  const given = (place: Parameter["in"]) => {
    const here = known.filter((each) => each.in === place);
    const values = here.map((each): [string, fc.Arbitrary<string>] => [
      each.name,
      parameterValue(components.schemas, each, odd),
    ]);
    return fc.record(Object.fromEntries(values), { requiredKeys: [] });
  };
  const segment = fc.oneof(
    { arbitrary: fc.constantFrom(...ids, "notes", "google", "count"), weight: 4 },
    { arbitrary: valuesOf(components.schemas, { type: "string" }, odd).map(asText), weight: 1 },
  );
  return fc
    .record({
      segments: fc.array(segment, { minLength: 3, maxLength: 3 }),

      query: given("query"),
      headers: given("header"),
      body: bodyOf(components.schemas, requestBody, odd),
      as: fc.constantFrom("root", "root", "member", "nobody"),
      address: fc.ipV4(),
    })
    .map(({ segments, query, headers, body, as, address }) => {
      let at = 0;
      const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(segments[at++] ?? "x"));
      const search = new URLSearchParams(query as Record<string, string>).toString();
      const sent = Object.entries(headers).map(([name, value]) => [name, encodeURIComponent(String(value))]);
      return {
        method: method === "x-query" ? "QUERY" : method.toUpperCase(),
        as,
        body: body.bytes,
        path: filled + (search === "" ? "" : `?${search}`),
        headers: { ...Object.fromEntries(sent), "X-Forwarded-For": address, ...body.headers },
      } as FuzzRequest;
    });
}

function parameterValue(
  schemas: Document["components"]["schemas"],
  { schema }: Parameter,
  odd: Odd,
): fc.Arbitrary<string> {
  const json = schema?.contentSchema;
  if (json !== undefined) return valuesOf(schemas, json, odd).map((value) => JSON.stringify(value) ?? "");
  return valuesOf(schemas, schema ?? {}, odd).map(asText);
}

function asText(value: unknown): string {
  return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();
}

interface Body {
  readonly bytes: string | Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

function bodyOf(
  schemas: Document["components"]["schemas"],
  requestBody: Operation["requestBody"],
  odd: Odd,
): fc.Arbitrary<Body> {
  const none: Body = { bytes: undefined, headers: {} };
  if (requestBody === undefined) return fc.constant(none);
  const kinds = Object.entries(requestBody.content).map(([type, { schema }]): fc.Arbitrary<Body> => {
    const values = valuesOf(schemas, schema, odd);
    if (type === MULTIPART.split(";")[0]) return values.map(asForm);
    return values.map((value) => ({ bytes: JSON.stringify(value), headers: { "Content-Type": type } }));
  });
  const broken = fc
    .constantFrom('{"a":', "", "[", "\u0000", "x".repeat(10_000))
    .map((bytes) => ({ bytes, headers: { "Content-Type": "application/json" } }));
  return fc.oneof(
    ...kinds.map((arbitrary) => ({ arbitrary, weight: 8 })),
    { arbitrary: broken, weight: odd },
    { arbitrary: fc.constant(none), weight: odd },
  );
}

function asForm(value: unknown): Body {
  const { file, ...parts } =
    typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const texts = Object.entries(parts).map(([name, part]) =>
    textPart(encodeURIComponent(asText(name)), asText(part ?? "")),
  );
  const files = file === undefined ? [] : [filePart("file", "a.txt", "text/plain", asText(file))];
  return { bytes: multipartBody([...texts, ...files]), headers: { "Content-Type": MULTIPART } };
}

/** Signs in anew where a request has ended the session of whoever asks. */
async function send({ as, method, path, headers, body }: FuzzRequest): Promise<Outcome> {
  if (as !== "nobody" && !tokens.has(as)) {
    const { text } = await client.post("/auth/login", { email: `${as}@example.com`, password: PASSWORD });
    tokens.set(as, JSON.parse(text).accessToken);
  }
  const authorization = as === "nobody" ? {} : { Authorization: `Bearer ${tokens.get(as)}` };
  const outcome = await client.ask(method, path, {
    headers: { ...headers, ...authorization },
    ...(body === undefined ? {} : { body }),
  });
  if (outcome.ended === 401) tokens.delete(as);
  return outcome;
}

describe(`${RUNS} requests made from the OpenAPI document`, () => {
  it(
    "are all answered in time, and none with a fault of ours",
    async () => {
      const seen = new Map<Outcome["ended"], number>();
      await fc.assert(
        fc.asyncProperty(requests, async (request) => {
          const { ended, isJson, text } = await send(request);
          seen.set(ended, (seen.get(ended) ?? 0) + 1);
          if (typeof ended !== "number" || ended >= 500) throw new Error(`${ended}: ${text}`);
          // A page and a file are no JSON; a refusal always is.
          if (ended >= 400 && !isJson) throw new Error(`${ended} without the error body: ${text}`);
        }),
        { numRuns: RUNS, endOnFailure: true, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
      );
      await loggedByNow(stack);
      for (const service of [stack.gateway, stack.dataService]) {
        expect(service.process.exitCode).toBeNull();
        expect(service.log()).not.toMatch(/"level":"(?:error|fatal)"/);
      }
      // It got through to what the operations do, and was refused where it should be.
      for (const status of [200, 400, 401, 404]) expect([...seen.keys()]).toContain(status);
    },
    size(5, 120) * MINUTES,
  );
});
