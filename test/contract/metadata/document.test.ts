// GET /openapi.json: a valid OpenAPI 3.1 document of exactly what its reader may use, and true to the answers.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { API_VERSION } from "@portico/data-service/metadata/openapi";
import { Validator } from "@seriousme/openapi-schema-validator";
import { type Api, signIn } from "../../support/api.js";
import { projectRoot } from "../../support/run-state.js";
import { make, makeTable, type Row } from "../records/make.js";
import { type Newsroom, openNewsroom } from "./newsroom.js";
import { checksOf, pointerTo } from "./schema-check.js";

jest.setTimeout(120_000);

type Caller = "root" | "writer" | "visitor";
const CALLERS: readonly Caller[] = ["root", "writer", "visitor"];

let room: Newsroom;
const documents = {} as Record<Caller, Row>;

beforeAll(async () => {
  room = await openNewsroom();
  for (const caller of CALLERS) documents[caller] = (await room[caller].get("/openapi.json")).body;
});
afterAll(() => room?.stack.stop());

/** `GET /posts` and so on, of the paths that do not belong to Portico itself. */
function operations({ paths }: Row): string[] {
  const all = Object.entries<Row>(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.replace("x-", "").toUpperCase()} ${path}`),
  );
  return all.filter((each) => /^\w+ \/(articles|desks|letters|vaults|svc_)/.test(each)).toSorted();
}

function operationOf(document: Row, text: string): Row {
  const [method = "", path = ""] = text.split(" ");
  return document.paths[path]?.[method.toLowerCase()];
}

describe("the document", () => {
  it.each(CALLERS)("for %s passes a validator", async (caller) => {
    const result = await new Validator().validate(structuredClone(documents[caller]));
    expect([result.valid, result.errors ?? []]).toEqual([true, []]);
    expect(documents[caller].openapi).toMatch(/^3\.1\./);
  });

  it.each(CALLERS)(
    "for %s names each operation and each response once, and refers to nothing that is missing",
    (caller) => {
      const text = JSON.stringify(documents[caller]);
      const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const references = [...text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)];
      expect([ids.length, references.length]).not.toContain(0);
      for (const [, kind = "", name = ""] of references)
        expect([name, documents[caller].components[kind]]).toEqual([
          name,
          expect.objectContaining({ [name]: expect.anything() }),
        ]);
    },
  );

  it("lives at the app's address, in the package's version", async () => {
    const { version } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
    expect(documents.root.servers).toEqual([{ url: `${room.stack.appUrl}/api` }]);
    expect([documents.root.info.version, API_VERSION]).toEqual([version, version]);
  });

  it("gives root every table and action", () => {
    const all = (table: string): string[] => [
      ...["DELETE", "GET", "PATCH"].map((method) => `${method} /${table}/{id}`),
      ...["GET", "POST", "QUERY"].map((method) => `${method} /${table}`),
    ];
    const own = ["articles", "desks", "letters", "vaults"];
    const many = [...own, "svc_role", "svc_permission", "svc_route_handler", "svc_file", "svc_folder"];
    expect(operations(documents.root)).toEqual(
      [
        ...[...many, "svc_table", "svc_user"].flatMap(all),
        ...many.flatMap((table) => [`DELETE /${table}`, `PATCH /${table}`]),
        ...own.map((table) => `POST /${table}/import`),
        ...["GET /svc_audit", "POST /svc_audit", "QUERY /svc_audit", "GET /svc_audit/{id}"],
        ...[
          "GET /svc_folder/tree",
          "GET /svc_table/{id}/advice",
          "POST /svc_table/{id}/undo",
          "POST /svc_permission/explain",
        ],
      ].toSorted(),
    );
  });

  it("gives a role exactly what its rules allow", () => {
    expect(operations(documents.writer)).toEqual(
      [
        ...[
          "GET /articles",
          "POST /articles",
          "QUERY /articles",
          "GET /articles/{id}",
          "PATCH /articles/{id}",
          "PATCH /articles",
          "POST /articles/import",
        ],
        ...["GET /desks", "POST /desks", "QUERY /desks", "GET /desks/{id}"],
        ...["POST /letters", "POST /letters/import"],
      ].toSorted(),
    );
  });

  it("gives a visitor what everybody may do", () => {
    expect(operations(documents.visitor)).toEqual(["POST /letters", "POST /letters/import"]);
    const fixed = Object.keys(documents.visitor.paths);
    expect(fixed).toEqual(
      expect.arrayContaining(["/login", "/auth/providers", "/metadata", "/openapi.json"]),
    );
    for (const path of ["/me", "/auth/api-tokens", "/auth/keys/rotate"]) expect(fixed).not.toContain(path);
  });

  it("does not tell a role of tables, columns and relations that it may not know", () => {
    const words = ["vault", "wages", "sealed", "franked", "quotedBy"];
    const told = (caller: Caller): string[] =>
      words.filter((each) => JSON.stringify(documents[caller]).includes(each));
    expect([told("root"), told("writer"), told("visitor")]).toEqual([words, [], []]);
    expect(operations(documents.visitor).join()).not.toMatch(/article|desk/);
  });

  it("tells that a required column may be null in records from before, which its schema does not say", () => {
    const { components, info } = documents.root;
    expect(components.schemas["articles.record"].properties.title.type).toBe("string");
    expect(info.description).toContain("never null there, but in records older than that rule");
  });

  it("has for each body the columns that may be written, and needs what neither default nor rule gives", () => {
    const { "articles.create": create, "articles.update": update } = documents.writer.components.schemas;
    // What the service alone writes may come along: it is ignored.
    const ignored = ["id"];
    expect([Object.keys(create.properties), create.required]).toEqual([
      ["title", "price", "count", "memo", "desk", ...ignored],
      ["title", "desk"],
    ]);
    expect([Object.keys(update.properties), update.required]).toEqual([
      ["title", "price", ...ignored],
      undefined,
    ]);
    expect(documents.root.components.schemas["articles.create"].required).toEqual([
      "title",
      "status",
      "desk",
    ]);
  });

  it("offers for filters what may be compared, with the operators of each column's type", () => {
    const { schemas } = documents.root.components;
    const { properties } = schemas["articles.filter"];
    expect(Object.keys(properties)).toEqual(
      expect.arrayContaining(["_and", "_or", "_not", "id", "title", "desk"]),
    );
    expect(Object.keys(properties)).not.toContain("sealed");
    expect(properties.title.anyOf.at(-1)).toEqual({ $ref: "#/components/schemas/Operators.string" });
    expect(Object.keys(schemas["Operators.string"].properties)).toEqual(
      expect.arrayContaining(["_eq", "_contains", "_starts_with", "_is_null"]),
    );
    expect(Object.keys(schemas["Operators.int"].properties)).not.toContain("_contains");
    expect(Object.keys(schemas["Operators.boolean"].properties)).not.toContain("_gt");
    // A rule that shows more in some rows takes nothing away, and lets nothing more be compared.
    expect(Object.keys(documents.writer.components.schemas["articles.filter"].properties)).toEqual([
      ...["_and", "_or", "_not", "id", "title", "status", "topics", "price", "count", "desk", "sources"],
    ]);
  });

  it("offers a key against making things twice where there is one", async () => {
    const key = (path: string) => ({ "Idempotency-Key": `of-${path.slice(1)}` });
    const send = (path: string, body: unknown) => {
      const headers = { ...key(path), "Content-Type": "application/json" };
      return room.root.send("POST", path, { body: JSON.stringify(body), headers });
    };
    const upload = new FormData();
    upload.append("file", new Blob(["a"]), "a.txt");
    const answers = {
      "/letters": await send("/letters", { text: "a" }),
      "/svc_role": await send("/svc_role", { name: "once" }),
      "/svc_table": await send("/svc_table", { name: "once" }),
      "/svc_file": await room.root.send("POST", "/svc_file", { body: upload, headers: key("/svc_file") }),
    };
    for (const [path, { status }] of Object.entries(answers)) {
      const { parameters } = operationOf(documents.root, `POST ${path}`);
      const isOffered = JSON.stringify(parameters).includes("IdempotencyKey");
      expect([path, status, isOffered]).toEqual([path, isOffered ? 201 : 400, status === 201]);
    }
  });

  it("has for a new file its upload and nothing else", () => {
    const { parameters, requestBody, responses } = operationOf(documents.root, "POST /svc_file");
    expect(Object.keys(requestBody.content)).toEqual(["multipart/form-data"]);
    expect([JSON.stringify(parameters), Object.keys(responses)]).toEqual([
      expect.not.stringContaining("Override"),
      expect.not.arrayContaining(["200"]),
    ]);
  });

  it("has of an upload the parts that the caller may send", async () => {
    const [role] = (await room.root.post("/svc_role", { name: "uploaders" })).body.data;
    const rule = { role: role.id, table: "svc_file", action: "create", fields: "title,isPublic" };
    await room.root.post("/svc_permission", rule);
    const uploader = { email: "uploader@example.com", password: "an uploader's password" };
    await room.root.post("/svc_user", { ...uploader, role: role.id });
    const api = await signIn(`${room.stack.appUrl}/api`, uploader);
    const document = (await api.get("/openapi.json")).body;
    const partsOf = (of: Row): string[] =>
      Object.keys(
        operationOf(of, "POST /svc_file").requestBody.content["multipart/form-data"].schema.properties,
      );
    expect(partsOf(document)).toEqual(["file", "title", "isPublic"]);
    expect(partsOf(documents.root)).toEqual(["file", "folder", "title", "description", "isPublic"]);
    const sent = async (part: string) => {
      const body = new FormData();
      body.append("file", new Blob(["a"]), "a.txt");
      body.append(part, part === "isPublic" ? "true" : "text");
      return (await api.send("POST", "/svc_file", { body })).status;
    };
    expect([await sent("title"), await sent("isPublic"), await sent("folder")]).toEqual([201, 201, 400]);
  });

  it("tells where QUERY is, which has no place of its own", () => {
    const { "x-query": query } = documents.root.paths["/articles"];
    expect(query.requestBody.content["application/json"].schema).toEqual({
      $ref: "#/components/schemas/articles.query",
    });
    // Where one may create, the body is typed as a new record.
    for (const table of ["articles", "svc_table"])
      expect(documents.root.paths[`/${table}`].post.description).toContain(
        "With `X-HTTP-Method-Override: QUERY` it lists instead (200); " +
          `the body is then \`${table}.query\`, for which a typed client needs a cast.`,
      );
    expect(documents.root.info.description).toContain("QUERY");
  });

  it("has the numbers of related records, where they may be known, in records and in no body", () => {
    const numbers = (caller: Caller, schema: string): string[] =>
      Object.keys(documents[caller].components.schemas[schema].properties._count?.properties ?? {});
    expect(numbers("root", "articles.record")).toEqual(["sources", "quotedBy"]);
    expect(numbers("root", "desks.record")).toEqual(["articles"]);
    // The role's rules name `sources` alone, and nothing of `desks` is left out.
    expect([numbers("writer", "articles.record"), numbers("writer", "desks.record")]).toEqual([
      ["sources"],
      ["articles"],
    ]);
    for (const schema of ["articles.create", "articles.update", "letters.record"])
      expect(numbers("root", schema)).toEqual([]);
  });

  it("has one error body for all refusals", () => {
    const { responses, schemas } = documents.root.components;
    for (const response of Object.values<Row>(responses))
      expect(response.content["application/json"].schema).toEqual({ $ref: "#/components/schemas/Error" });
    expect(schemas.Error.properties.error.properties.code.enum).toContain("DUPLICATE_RESOURCE");
  });

  it("offers what is for root admins to nobody else", async () => {
    await makeTable(room.root, { name: "clippings", softDelete: true, columns: [] });
    const { body } = await room.root.get("/svc_role", { filter: { name: "Writer" } });
    const rule = { role: body.data[0].id, table: "clippings" };
    for (const action of ["read", "delete"]) await make(room.root, "svc_permission", { ...rule, action });
    const told = async (api: Api): Promise<string[]> => {
      const { paths, components } = (await api.get("/openapi.json")).body;
      const parts = [paths["/clippings"], paths["/clippings/{id}"], components.schemas["clippings.query"]];
      const text = JSON.stringify(parts);
      return ["deleted", "explain", "permanent"].filter((each) => text.includes(each));
    };
    expect(await told(room.root)).toEqual(["deleted", "explain", "permanent"]);
    expect(await told(room.writer)).toEqual(["deleted"]);
  });
});

describe("the schemas of the document", () => {
  const body = { title: "Bread", status: "live", topics: ["food"], price: "1.50", a_json: { deep: [1] } };

  it("offer new records inside a body where they may be created, and nowhere else", () => {
    const linked = (caller: Caller): Row[] => {
      const { properties } = documents[caller].components.schemas["articles.create"];
      return properties.desk.anyOf;
    };
    expect(linked("root")).toContainEqual({
      $ref: "#/components/schemas/desks.create",
      not: { required: ["id"] },
    });
    expect(JSON.stringify(linked("writer"))).not.toContain("$ref");
    const files = documents.root.components.schemas["svc_folder.create"].properties.files;
    expect(JSON.stringify(files)).not.toContain("$ref");
    expect(documents.root.components.schemas["svc_file.update"].properties).not.toHaveProperty("uploadedBy");
    expect(documents.root.components.schemas).not.toHaveProperty(["svc_file.create"]);
  });

  it("describe histories and streams of changes as they are", async () => {
    await makeTable(room.root, {
      name: "kept_desks",
      changes: true,
      history: true,
      columns: [{ name: "name", type: "string" }],
      relations: [{ name: "desk", type: "many-to-one", table: "desks" }],
    });
    await makeTable(room.root, { name: "many_kept_desks" });
    const { id } = await make(room.root, "kept_desks", { name: "a" });
    await room.root.patch(`/kept_desks/${id}`, { name: "b" });
    const document = (await room.root.get("/openapi.json")).body;
    const check = checksOf(document);
    const path = "/kept_desks/{id}/history";
    const at = ["paths", path, "get", "responses", "200", "content", "application/json", "schema"];
    const answer = await room.root.get(`/kept_desks/${id}/history`);
    expect([answer.body.data.length, check(pointerTo(...at), answer.body)]).toEqual([2, []]);
    const bad = { ...answer.body, data: [{ ...answer.body.data[0], event: "other" }] };
    expect(check(pointerTo(...at), bad)).not.toEqual([]);
    const [limit] = document.paths[path].get.parameters.filter(({ name }: Row) => name === "limit");
    for (const [value, status] of [
      [limit.schema.minimum, 200],
      [limit.schema.maximum, 200],
      [limit.schema.minimum - 1, 400],
      [limit.schema.maximum + 1, 400],
    ])
      expect([
        value,
        (await room.root.get(`/kept_desks/${id}/history`, { limit: `${value}` })).status,
      ]).toEqual([value, status]);
    const followed: Row[] = document.paths["/kept_desks/changes"].get.parameters;
    const named = followed.map(({ name, in: where }) => `${where} ${name}`);
    expect(named).toEqual(
      expect.arrayContaining(["query deep", "header Last-Event-ID", "query lastEventId"]),
    );
    const ids = [...JSON.stringify(document).matchAll(/"operationId":"([^"]+)"/g)].map(([, each]) => each);
    expect(ids.filter((each, index) => ids.indexOf(each) !== index)).toEqual([]);
    for (const table of ["many_kept_desks", "kept_desks"]) {
      const { body: found } = await room.root.get("/svc_table", { filter: { name: table }, fields: "id" });
      const { body: refused } = await room.root.delete(`/svc_table/${found.data[0].id}`);
      const confirm = refused.error?.details.confirmHash;
      if (confirm !== undefined) await room.root.delete(`/svc_table/${found.data[0].id}?confirm=${confirm}`);
    }
  });

  it("have parameters of JSON as text: an object, generators would write in ways that leave out null and []", () => {
    const inAddress = (document: Row): Row[] =>
      Object.values<Row>(document.paths)
        .flatMap((item) => Object.values<Row>(item).flatMap(({ parameters = [] }) => parameters))
        .concat(Object.values<Row>(document.components.parameters));
    const names = ["filter", "deep", "aggregate"];
    expect(inAddress(documents.root).map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    for (const caller of CALLERS) {
      const all = inAddress(documents[caller]);
      expect(all.filter(({ content }) => content !== undefined)).toEqual([]);
      for (const { schema, example } of all.filter(({ name }) => names.includes(name)))
        expect({ schema, example }).toEqual({
          schema: { type: "string", contentSchema: expect.any(Object) },
          example: expect.any(String),
        });
    }
    const [filter] = operationOf(documents.root, "DELETE /articles").parameters;
    expect(filter.schema.contentSchema).toEqual({
      $ref: "#/components/schemas/articles.filter",
      minProperties: 1,
    });
  });

  it("take their own examples", () => {
    const document = documents.root;
    const check = checksOf(document);
    const problems = Object.entries<Row>(document.paths).flatMap(([path, item]) =>
      Object.entries<Row>(item).flatMap(([method, operation]) => {
        const media = operation.requestBody?.content["application/json"];
        if (media?.example === undefined) return [];
        const at = pointerTo("paths", path, method, "requestBody", "content", "application/json", "schema");
        return check(at, media.example).map((problem) => `${method} ${path}: ${problem}`);
      }),
    );
    const ofParameters = Object.entries<Row>(document.paths).flatMap(([path, item]) =>
      Object.entries<Row>(item).flatMap(([method, { parameters = [] }]) =>
        parameters.flatMap(({ schema, example }: Row, at: number) => {
          if (schema?.contentSchema === undefined) return [];
          const steps = ["paths", path, method, "parameters", String(at), "schema"];
          const found = [
            ...check(pointerTo(...steps), example),
            ...check(pointerTo(...steps, "contentSchema"), JSON.parse(example)),
          ];
          return found.map((problem) => `${method} ${path}, parameter ${at}: ${problem}`);
        }),
      ),
    );
    const ofSchemas = Object.entries<Row>(document.components.schemas).flatMap(([name, { examples = [] }]) =>
      examples.flatMap((each: unknown) => check(pointerTo("components", "schemas", name), each)),
    );
    expect([...problems, ...ofParameters, ...ofSchemas]).toEqual([]);
  });

  it.each([
    ...["/articles", "/desks", "/vaults", "/letters", "/svc_role", "/svc_user", "/svc_permission"],
    ...["/svc_folder", "/svc_route_handler", "/svc_table"],
  ])("give examples that POST %s and PATCH of the new record take", async (path) => {
    const exampleOf = (operation: string): Row =>
      operationOf(documents.root, operation).requestBody.content["application/json"].example;
    const example = exampleOf(`POST ${path}`);
    const { id: desk } = (await room.root.post("/desks", { name: `example ${path}` })).body.data[0];
    const answer = await room.root.post(
      path,
      example.desk === undefined ? { ...example } : { ...example, desk },
    );
    expect([answer.status, answer.body.message]).toEqual([201, "Success"]);
    const { id } = answer.body.data[0];
    const changed = await room.root.patch(`${path}/${id}`, exampleOf(`PATCH ${path}/{id}`));
    expect([changed.status, changed.body.message]).toEqual([200, "Success"]);
    await room.root.delete(`${path}/${id}`);
  });

  it("gives files that an import takes", async () => {
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
    ];
    await makeTable(room.root, {
      name: "imported",
      columns: [
        ...types.map((type) => ({ name: `a_${type}`, type, required: true })),
        { name: "said", type: "string", default: 'He said "no",\ntwice' },
        { name: "setting", type: "json", default: "dark" },
        { name: "topics", type: "enumList", options: { values: ["art", "food"] }, required: true },
      ],
    });
    const { requestBody } = operationOf((await room.root.get("/openapi.json")).body, "POST /imported/import");
    for (const type of ["text/csv", "application/x-ndjson"]) {
      const body = requestBody.content[type].example;
      const { status, body: answer } = await room.root.send("POST", "/imported/import", {
        body,
        headers: { "Content-Type": type },
      });
      expect([type, status, answer.message, answer.data]).toEqual([
        type,
        200,
        "Success",
        [{ imported: 1, checked: 1, dryRun: false }],
      ]);
    }
    const { data } = (await room.root.get("/imported", { fields: "-id,-createdAt,-updatedAt" })).body;
    expect([data.length, data[0]]).toEqual([2, data[1]]);
    expect(data[0]).toMatchObject({
      said: 'He said "no",\ntwice',
      setting: "dark",
      topics: ["art"],
      a_int: 1,
    });
  });

  it("gives an example that PATCH of a file takes as JSON, and for its content a form of its own", async () => {
    const { content } = operationOf(documents.root, "PATCH /svc_file/{id}").requestBody;
    const upload = new FormData();
    upload.append("file", new Blob(["a"]), "a.txt");
    const { id } = (await room.root.send("POST", "/svc_file", { body: upload })).body.data[0];
    const { example } = content["application/json"];
    const answer = await room.root.patch(`/svc_file/${id}`, example);
    expect([answer.status, answer.body.message]).toEqual([200, "Success"]);
    expect(answer.body.data[0]).toMatchObject(example);
    expect([content["multipart/form-data"].schema.type, Object.keys(example)]).toEqual([
      "object",
      expect.not.arrayContaining(["folder"]),
    ]);
  });

  it("describe the answers", async () => {
    const check = checksOf(documents.root);
    const fits = async (text: string, path: string, sent?: unknown, query: Row = {}): Promise<Row> => {
      const [method = "", template = ""] = text.split(" ");
      const answer =
        sent === undefined
          ? await room.root.send(method, path + (query.search ?? ""))
          : await room.root.send(method, path, {
              body: JSON.stringify(sent),
              headers: { "Content-Type": "application/json" },
            });
      const at = ["paths", template, method.toLowerCase(), "responses", String(answer.status)];
      const pointer = pointerTo(...at, "content", "application/json", "schema");
      expect([text, answer.status, check(pointer, answer.body)]).toEqual([text, answer.status, []]);
      return answer.body.data?.[0];
    };
    const desk = await fits("POST /desks", "/desks", { name: "Culture" });
    const made = await fits("POST /articles", "/articles", { ...body, desk: desk.id });
    const search = `?fields=*,memo,sources,_count(sources)&meta=*&aggregate=${encodeURIComponent('{"count":{"sum":true}}')}`;
    await fits("GET /articles", "/articles", undefined, { search });
    await fits("GET /articles/{id}", `/articles/${made.id}`);
    await fits("PATCH /articles/{id}", `/articles/${made.id}`, { sources: [made.id] });
    await fits("DELETE /articles/{id}", `/articles/${made.id}`);
    const calls = [
      ...["/svc_table", "/svc_user", "/svc_permission", "/svc_audit", "/svc_role", "/me", "/me/sessions"],
      ...["/me/permissions", "/me/oauth-accounts", "/auth/api-tokens", "/auth/providers", "/metadata"],
      ...["/.well-known/jwks.json", "/openapi.json"],
    ];
    for (const path of calls) await fits(`GET ${path}`, path);
    await fits("POST /svc_permission/explain", "/svc_permission/explain", {
      role: null,
      table: "desks",
      action: "read",
    });
    await fits("POST /auth/api-tokens", "/auth/api-tokens", { name: "t", expiresAt: "never" });
    await fits("POST /auth/login", "/auth/login", room.stack.admin);
    await fits("POST /auth/keys/rotate", "/auth/keys/rotate", {});
  });

  it("have what `/me` shows, whatever the rules say of users and roles", async () => {
    const owner = { name: "owner", type: "many-to-one", table: "svc_user", inverse: "pitches" };
    await makeTable(room.root, { name: "pitches", columns: [], relations: [owner] });
    await make(room.root, "svc_permission", { role: null, table: "pitches", action: "read" });
    const fields = "*,role.name,role.description,pitches.createdAt,_count(pitches)";
    const { status, body: answer } = await room.writer.get("/me", { fields });
    const document = (await room.writer.get("/openapi.json")).body;
    const at = pointerTo("paths", "/me", "get", "responses", "200", "content", "application/json", "schema");
    expect([status, checksOf(document)(at, answer)]).toEqual([200, []]);
    const { "svc_user.own": user, "svc_role.own": role } = document.components.schemas;
    expect(Object.keys(user.properties).toSorted()).toEqual(Object.keys(answer.data[0]).toSorted());
    expect(Object.keys(role.properties)).toEqual(expect.arrayContaining(Object.keys(answer.data[0].role)));
    expect(user.properties.role.anyOf).toContainEqual({ $ref: "#/components/schemas/svc_role.own" });
    expect(Object.keys(document.components.schemas)).not.toContain("svc_user.record");
  });

  it.each(CALLERS)("have all that `GET /metadata` tells %s, and nothing else", async (caller) => {
    const { body: answer } = await room[caller].get("/metadata");
    const at = ["paths", "/metadata", "get", "responses", "200", "content", "application/json", "schema"];
    const problemsOf = (change: (table: Row) => void): string[] => {
      const changed = structuredClone(answer);
      change(changed.data[0]);
      return checksOf(documents[caller])(pointerTo(...at), changed);
    };
    const untold: ((table: Row) => void)[] = [
      (table) => delete table.singleton,
      (table) => Object.assign(table, { other: 1 }),
      (table) => delete table.columns[0].operators,
      (table) => Object.assign(table.columns[0], { other: 1 }),
    ];
    expect(problemsOf(() => {})).toEqual([]);
    for (const change of untold) expect(problemsOf(change)).toHaveLength(1);
  });

  it("name the ETag of a record, of oneself as well", async () => {
    const described = (operation: string): string[] => {
      const { responses } = operationOf(documents.writer, operation);
      return Object.keys(responses).filter((status) => responses[status].headers?.ETag !== undefined);
    };
    expect([described("GET /me"), described("PATCH /me")]).toEqual([["200", "304"], ["200"]]);
    const { headers } = await room.writer.get("/me");
    expect(headers.get("etag")).not.toBeNull();
  });

  it("name the conditions that hold where they are asked", async () => {
    const asked = (operation: string): unknown[] => {
      const { parameters, responses } = operationOf(documents.visitor, operation);
      const names = parameters.map(({ name }: Row) => name).filter((name: string) => name.startsWith("If-"));
      return [names.toSorted(), Object.keys(responses["304"].headers)];
    };
    const tags = ["If-Match", "If-None-Match"];
    for (const operation of ["GET /docs", "GET /docs/{file}"])
      expect([operation, asked(operation)]).toEqual([operation, [tags, ["ETag"]]]);
    const times = ["If-Modified-Since", "If-Unmodified-Since"];
    expect(asked("GET /assets/{id}")).toEqual([
      [...tags, ...times, "If-Range"].toSorted(),
      ["ETag", "Last-Modified"],
    ]);
  });

  it("say of what types the files are wherever a format can be asked for", () => {
    const { parameters, schemas } = documents.writer.components;
    for (const { description } of [parameters.format, schemas["articles.query"].properties.format])
      expect(description).toMatch(/`text\/csv`.*`application\/x-ndjson`/);
  });

  it("describe refusals", async () => {
    const check = checksOf(documents.root);
    const refused = [
      await room.root.post("/articles", { wages: "1" }),
      await room.root.get("/nothing"),
      await room.visitor.get("/articles"),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 404, 401]);
    for (const { body: error } of refused)
      expect(check(pointerTo("components", "schemas", "Error"), error)).toEqual([]);
  });

  it("say how what is not listed is refused", async () => {
    const statuses = (caller: Caller, calls: readonly string[]) =>
      Promise.all(
        calls.map(async (call) => {
          expect([call, operationOf(documents[caller], call)]).toEqual([call, undefined]);
          const [method = "", path = ""] = call.split(" ");
          return (await room[caller].send(method, path)).status;
        }),
      );
    const [methods, addresses] = [["PUT /articles"], ["GET /nothing"]];
    expect(await statuses("root", [...methods, ...addresses])).toEqual([405, 404]);
    expect(await statuses("writer", [...methods, ...addresses, "GET /vaults"])).toEqual([405, 404, 403]);
    expect(await statuses("visitor", [...methods, ...addresses, "GET /vaults"])).toEqual([405, 404, 401]);
    for (const caller of CALLERS)
      expect(documents[caller].info.description).toContain(
        "401 or 403 where it is not yours, else 405 for a method and 404 for an address",
      );
  });

  it("take what the server takes, and refuse what it refuses", async () => {
    const check = checksOf(documents.root);
    const { id: desk } = (await room.root.post("/desks", { name: "Sport" })).body.data[0];
    const bodies: [unknown, boolean][] = [
      [{ ...body, desk }, true],
      [{ ...body, desk: { id: desk }, price: null }, true],
      [{ ...body, desk: null }, false],
      [{ ...body, desk, status: "other" }, false],
      [{ ...body, desk, title: "no" }, false],
      [{ ...body, desk, titel: "unknown" }, false],
      [{ ...body, desk, price: 1.5 }, false],
      [{ ...body, desk, franked: "read-only" }, false],
      [{ title: "no desk", status: "live" }, false],
    ];
    const article = { title: "Inside", status: "draft" };
    const desks: [unknown, boolean][] = [
      [{ name: "with new ones", articles: [article, { ...article, sources: [{ ...body, desk }] }] }, true],
      [{ name: "with quotes", articles: [{ ...article, quotedBy: [{ ...body, desk }] }] }, true],
      [{ name: "with none", articles: [{ title: "no status" }] }, false],
      [{ name: "with a link back", articles: [{ ...article, desk }] }, false],
    ];
    bodies.push(
      [{ ...body, desk: { name: "New" }, sources: [{ ...body, desk: { name: "Newer" } }] }, true],
      [{ ...body, desk: { nme: "New" } }, false],
      [{ ...body, desk, sources: [{ title: "no desk", status: "live" }] }, false],
    );
    const tooLong = "x".repeat(1_025);
    const filters: [unknown, boolean][] = [
      [{ title: "Bread", count: { _gte: 1, _between: [1, 5] }, _not: { status: { _in: ["live"] } } }, true],
      [{ desk: { name: { _contains: "o" } } }, true],
      [{ desk, sources: { _is_null: true } }, true],
      [{ desk: { _neq: desk, name: "News", _not: { name: null } } }, true],
      [{ sources: { _not_in: [], desk: { _eq: desk, name: { _contains: "o" } } } }, true],
      [{ desk: {} }, true],
      [{ desk: { _neq: desk, nme: "News" } }, false],
      [{ desk: { _contains: "1", name: "News" } }, false],
      [{ topics: { _contains: "food" }, a_json: null }, true],
      [{ count: { _contains: "1" } }, false],
      [{ title: {} }, false],
      [{ count: "1" }, false],
      [{ nothing: 1 }, false],
      [{ status: { _eq: "other" } }, false],
      [{ title: "x".repeat(1_024), _not: { title: { _in: ["x".repeat(1_024)] } } }, true],
      ...["_eq", "_neq", "_gt", "_contains"].map((name): [unknown, boolean] => [
        { title: { [name]: tooLong } },
        false,
      ]),
      ...["_in", "_not_in", "_between"].map((name): [unknown, boolean] => [
        { title: { [name]: ["a", tooLong] } },
        false,
      ]),
      [{ title: tooLong }, false],
    ];
    const queries: [unknown, boolean][] = [
      [{ limit: Number.MAX_SAFE_INTEGER, page: Number.MAX_SAFE_INTEGER }, true],
      [{ limit: Number.MAX_SAFE_INTEGER + 1 }, false],
      [{ page: Number.MAX_SAFE_INTEGER + 1 }, false],
      [{ deep: { sources: { limit: Number.MAX_SAFE_INTEGER + 1 } } }, false],
    ];
    const seen = async (
      send: (value: unknown) => Promise<{ status: number }>,
      cases: [unknown, boolean][],
      name: string,
    ) => {
      for (const [value, isFine] of cases) {
        const { status } = await send(value);
        const problems = check(pointerTo("components", "schemas", name), value);
        expect([value, status < 400, problems.length === 0]).toEqual([value, isFine, isFine]);
      }
    };
    const list = (filter: unknown): ReturnType<Api["get"]> => room.root.get("/articles", { filter });
    await seen((value) => room.root.post("/articles", value), bodies, "articles.create");
    await seen((value) => room.root.post("/desks", value), desks, "desks.create");
    await seen(list, filters, "articles.filter");
    const query = (body: unknown) =>
      room.root.send("QUERY", "/articles", {
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      });
    await seen(query, queries, "articles.query");
    const folders: [unknown, boolean][] = [
      [{ name: "Photos" }, true],
      [{ name: "Pictures", slug: "photos-2" }, true],
      [{ slug: "nameless" }, false],
    ];
    await seen((value) => room.root.post("/svc_folder", value), folders, "svc_folder.create");
  });
});
