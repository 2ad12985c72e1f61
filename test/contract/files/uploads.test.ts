// Contract 9: a file goes up as multipart, its bytes are kept, its record is like any other.
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { sendRaw } from "../../gateway/support/raw-http.js";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { fileForm, keptIn, picture, upload, uploaded } from "../../support/files.js";
import {
  filePart,
  MULTIPART,
  multipartBody,
  type Part,
  sendBody,
  textPart,
} from "../../support/multipart.js";
import { roleFor } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { Browser } from "../auth/jar.js";

const LIMIT = 1_000_000;
const ANN = { email: "ann@example.com", password: "correct horse battery" };

let stack: Stack;
let database: MongoClient;
let admin: Api;
let ann: Api;
let anonymous: Api;

beforeAll(async () => {
  stack = await startStack({ env: { UPLOAD_MAX_BYTES: String(LIMIT) } });
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  const role = await roleFor(admin, "editor", ["svc_file", "svc_folder"]);
  await admin.post("/svc_user", { ...ANN, role });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
  anonymous = apiOf(`${stack.appUrl}/api`);
});
afterAll(async () => {
  await database?.close();
  await stack?.stop();
});

const bytesOf = async (address: string): Promise<Buffer> =>
  Buffer.from(await (await fetch(stack.appUrl + address)).arrayBuffer());

describe("POST /svc_file", () => {
  test("answers 201 with the record, its address, and every member the contract names", async () => {
    const { status, headers, body } = await upload(admin, "hello", "note.txt", { title: "A note" });
    const [record] = body.data;
    expect([status, headers.get("location")]).toEqual([201, `/api/svc_file/${record.id}`]);
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      filename: "note.txt",
      title: "A note",
      description: null,
      mimetype: "text/plain",
      filesize: 5,
      width: null,
      height: null,
      isPublic: false,
      folder: null,
      uploadedBy: { id: expect.any(String) },
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await admin.get(`/svc_file/${record.id}`)).body.data[0]).toEqual(record);
  });

  test("takes folder, title, description and isPublic, before or behind the file", async () => {
    const [folder] = (await admin.post("/svc_folder", { name: "Letters" })).body.data;
    const form = fileForm("x", "x.txt", { folder: folder.id, isPublic: "true" });
    form.append("description", "behind the file");
    const { body } = await ann.send("POST", "/svc_file?fields=folder,isPublic,description", { body: form });
    expect(body.data).toEqual([
      { folder: { id: folder.id }, isPublic: true, description: "behind the file" },
    ]);
  });

  test.each([".", "..", "a/", "a\\.."])("calls what is named %j, which is no name, file", async (name) => {
    const record = await uploaded(ann, "x", name);
    expect([record.filename, record.filesize]).toEqual(["file", 1]);
    const replaced = await ann.send("PATCH", `/svc_file/${record.id}`, { body: fileForm("xy", name) });
    expect([replaced.status, replaced.body.data[0].filename]).toEqual([200, "file"]);
  });

  test("keeps the bytes as they are", async () => {
    const bytes = randomBytes(700_001);
    const { id } = await uploaded(ann, bytes, "noise.bin", { isPublic: "true" });
    for (const address of [`/assets/${id}`, `/api/assets/${id}`]) {
      const digest = createHash("sha256").update(await bytesOf(address));
      expect(digest.digest("hex")).toBe(createHash("sha256").update(bytes).digest("hex"));
    }
  });

  test("records width and height of a picture, as it is shown", async () => {
    const { width, height, mimetype } = await uploaded(ann, await picture(40, 30, "jpeg"), "p.bin");
    expect([width, height, mimetype]).toEqual([40, 30, "image/jpeg"]);
  });
});

/** An upload that stops in the middle of its file. */
async function* withoutEnd(): AsyncGenerator<Buffer> {
  const whole = multipartBody([filePart("file", "x.txt", "text/plain", "x".repeat(LIMIT / 2))]);
  yield whole.subarray(0, whole.length / 2);
  await new Promise(() => {});
}

describe("what an upload refuses", () => {
  const form = (...parts: [name: string, value: string | Blob, filename?: string][]): FormData => {
    const made = new FormData();
    for (const [name, value, filename] of parts)
      typeof value === "string" ? made.append(name, value) : made.append(name, value, filename);
    return made;
  };
  const file = new Blob(["x"]);
  const unknownPart = (name: string): string =>
    `${name}: unknown part; send file, and if you want folder, title, description, isPublic`;

  test.each([
    ["no file", form(["title", "t"]), ["file: is required"]],
    ["a form in which none was chosen", form(["file", new Blob([]), ""]), ["file: is required"]],
    ["a file as text", form(["file", "x"]), ['file: must be a file, with filename="…" in its head']],
    ["two files", form(["file", file, "a"], ["file", file, "b"]), ["file: must be sent once"]],
    ["a file elsewhere", form(["picture", file, "a"]), ['picture: the one file goes into the part "file"']],
    ["an unknown part", form(["file", file, "a"], ["mimetype", "text/html"]), [unknownPart("mimetype")]],
    ["a part twice", form(["file", file, "a"], ["title", "1"], ["title", "2"]), ["title: must be sent once"]],
    ["a nested name", form(["file", file, "a"], ["title[a]", "1"]), [unknownPart("title[a]")]],
    ["a list", form(["file", file, "a"], ["title[]", "1"]), [unknownPart("title[]")]],
    [
      "isPublic that is no boolean",
      form(["file", file, "a"], ["isPublic", "yes"]),
      ['isPublic: must be "true" or "false"'],
    ],
    [
      "an unknown folder",
      form(["file", file, "a"], ["folder", "0".repeat(24)]),
      [expect.stringMatching(/^folder: there is no/)],
    ],
    [
      "no folder id",
      form(["file", file, "a"], ["folder", "999999"]),
      [expect.stringMatching(/^folder: must/)],
    ],
    [
      "an operator for a folder",
      form(["file", file, "a"], ["folder", '{"$ne":null}']),
      [expect.stringMatching(/^folder: must/)],
    ],
  ])("%s: 400 naming the part, and nothing is kept", async (_what, body, message) => {
    const before = await keptIn(database);
    const answer = await ann.send("POST", "/svc_file", { body });
    expect([answer.status, answer.body.message]).toEqual([400, message]);
    expect(await keptIn(database)).toEqual(before);
  });

  /** Sends parts byte by byte. */
  const sendParts = (parts: Part[], more: Readonly<Record<string, string>> = {}) =>
    sendForm(multipartBody(parts), more);

  async function sendForm(form: Buffer, more: Readonly<Record<string, string>> = {}) {
    const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", ANN);
    const headers = { Authorization: `Bearer ${body.accessToken}`, "Content-Type": MULTIPART, ...more };
    const answer = await sendBody("POST", `${stack.appUrl}/api/svc_file`, headers, form);
    return { status: answer.status, body: JSON.parse(answer.body.toString()) };
  }

  test("text in a charset that is unknown: 400 that says so", async () => {
    const { head, content } = textPart("title", "t");
    const title = { head: [...head, "Content-Type: text/plain; charset=foo"], content };
    const { status, body } = await sendParts([filePart("file", "a", "text/plain", "x"), title]);
    expect([status, body.message]).toEqual([400, ["title: must be text in UTF-8"]]);
  });

  test("text that is not in the charset it should be in: 400 naming the part, and nothing is kept", async () => {
    const before = await keptIn(database);
    const file = filePart("file", "a", "text/plain", "x");
    const bytes = Buffer.from([0xe9, 0x41]);
    const title = { ...textPart("title", ""), content: bytes };
    const { status, body } = await sendParts([file, title]);
    expect([status, body.message]).toEqual([400, ["title: must be text in UTF-8, without U+FFFD"]]);
    expect(await keptIn(database)).toEqual(before);

    const head = [...title.head, "Content-Type: text/plain; charset=iso-8859-1"];
    const said = await sendParts([file, { head, content: bytes }]);
    expect([said.status, said.body.data[0].title]).toEqual([201, "éA"]);
  });

  test("a name that is not UTF-8 is kept, with U+FFFD for what can't be read", async () => {
    const [name, rest] = ['Content-Disposition: form-data; name="file"', "Content-Type: text/plain"];
    const parts = multipartBody([{ head: [`${name}; filename="?A.txt"`, rest], content: "x" }]);
    parts[parts.indexOf("?A.txt")] = 0xe9;
    const { status, body } = await sendForm(parts);
    expect([status, body.data[0].filename]).toEqual([201, "\ufffdA.txt"]);
  });

  test("a form with Content-Encoding, which is not read: 415", async () => {
    const parts = [filePart("file", "a", "text/plain", "x")];
    const { status, body } = await sendParts(parts, { "Content-Encoding": "gzip" });
    expect([status, body.message]).toEqual([415, "Send the body uncompressed, without Content-Encoding."]);
    expect((await sendParts(parts, { "Content-Encoding": "identity" })).status).toBe(201);
  });

  test("a text part beyond 64 KiB: 413", async () => {
    const { status } = await upload(ann, "x", "x", { description: "d".repeat(65_537) });
    expect(status).toBe(413);
  });

  test("a file of exactly UPLOAD_MAX_BYTES passes; one byte more is 413 and nothing is kept", async () => {
    await uploaded(ann, Buffer.alloc(LIMIT), "full.bin");
    const before = await keptIn(database);
    for (const base of [`${stack.appUrl}/api`, stack.dataUrl]) {
      const { status, body } = await upload(await signIn(base, ANN), Buffer.alloc(LIMIT + 1), "more.bin");
      expect([status, body.error.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    }
    expect(await keptIn(database)).toEqual(before);
  });

  test("JSON on the upload route, and multipart on any other: 415", async () => {
    const answers = [
      await ann.post("/svc_file", { title: "t" }),
      await ann.send("POST", "/svc_folder", { body: fileForm("x", "x") }),
      await ann.send("PATCH", "/me", { body: fileForm("x", "x") }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([415, 415, 415]);
  });

  test("anonymous callers and those without a rule are refused before their body is read", async () => {
    const nobody = { email: "nobody@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", nobody);
    const before = await keptIn(database);
    const stranger = await signIn(`${stack.appUrl}/api`, nobody);
    const statuses = [(await upload(anonymous, "x", "x")).status, (await upload(stranger, "x", "x")).status];
    expect(statuses).toEqual([401, 403]);
    const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", nobody);
    const token = { Authorization: `Bearer ${body.accessToken}` };
    // Whoever reads the body first waits for its end, which never comes.
    const answers = await Promise.all(
      [`${stack.appUrl}/api`, stack.dataUrl].flatMap((base) =>
        [{}, token].map((headers) =>
          sendBody("POST", `${base}/svc_file`, { ...headers, "Content-Type": MULTIPART }, withoutEnd()),
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 403, 401, 403]);
    expect(await keptIn(database)).toEqual(before);
  });

  test("and before any of it is sent: by the head alone", async () => {
    for (const [base, path] of [
      [stack.appUrl, "/api/svc_file"],
      [stack.dataUrl, "/svc_file"],
    ] as const) {
      const head = `POST ${path} HTTP/1.1\r\nHost: ${new URL(base).host}\r\nContent-Type: ${MULTIPART}\r\nContent-Length: 900\r\n\r\n`;
      expect(await sendRaw(base, head)).toMatch(/^HTTP\/1\.1 401 /);
    }
  });

  test("a rule's check sees what was uploaded; refused, nothing is kept", async () => {
    const [role] = (await admin.post("/svc_role", { name: "pictures only" })).body.data;
    await admin.post("/svc_permission", {
      role: role.id,
      table: "svc_file",
      action: "create",
      fields: "title",
      check: { mimetype: { _starts_with: "image/" }, filesize: { _lt: 10_000 } },
    });
    const painter = { email: "painter@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...painter, role: role.id });
    const api = await signIn(`${stack.appUrl}/api`, painter);
    const before = await keptIn(database);
    expect((await upload(api, "text", "x.png")).status).toBe(403);
    expect((await upload(api, "x", "x.png", { isPublic: "true" })).body.message).toEqual([
      expect.stringMatching(/^isPublic: unknown field/),
    ]);
    expect(await keptIn(database)).toEqual(before);
    expect((await upload(api, await picture(9, 9), "x.png", { title: "t" })).status).toBe(201);
  });
});

describe("PATCH /svc_file/{id} as JSON", () => {
  test("changes metadata, and makes a new name safe", async () => {
    const { id } = await uploaded(ann, "x", "x.txt");
    const { body } = await ann.patch(
      `/svc_file/${id}`,
      { filename: "../../etc/passwd", title: "t", isPublic: true },
      { fields: "filename,title,isPublic,filesize" },
    );
    expect(body.data).toEqual([{ filename: "passwd", title: "t", isPublic: true, filesize: 1 }]);
  });

  test("refuses by name what the service writes", async () => {
    const { id } = await uploaded(ann, "x", "x.txt");
    const body = {
      mimetype: "text/html",
      filesize: 9,
      width: 1,
      height: 1,
      uploadedBy: null,
      _contentKey: "x",
    };
    const answer = await admin.patch(`/svc_file/${id}`, body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual([
      ...["mimetype", "filesize", "width", "height", "uploadedBy"].map((name) => `${name}: is read-only`),
      expect.stringMatching(/^_contentKey: unknown field/),
    ]);
  });

  test("no answer shows where the bytes lie", async () => {
    const { id } = await uploaded(ann, "x", "x.txt");
    const [stored] = await database.db().collection("svc_file").find({ filename: "x.txt" }).toArray();
    const shown = JSON.stringify((await admin.get(`/svc_file/${id}`)).body);
    expect(shown).not.toContain(String(stored?._contentKey));
    const { status } = await admin.get("/svc_file", { filter: { _contentKey: "x" } });
    expect(status).toBe(400);
  });
});

describe("PATCH /svc_file/{id} as multipart", () => {
  test("replaces the content under the same id, and the former bytes go", async () => {
    const { id } = await uploaded(ann, "former", "a.txt", { title: "kept", isPublic: "true" });
    const before = await keptIn(database);
    const form = fileForm(await picture(8, 4), "b.png", { description: "new" });
    const { status, body } = await ann.send("PATCH", `/svc_file/${id}`, { body: form });
    expect([status, body.data[0]]).toMatchObject([
      200,
      {
        id,
        filename: "b.png",
        mimetype: "image/png",
        width: 8,
        height: 4,
        title: "kept",
        description: "new",
      },
    ]);
    expect(await bytesOf(`/assets/${id}`)).toEqual(await picture(8, 4));
    expect(await keptIn(database)).toEqual(before);
    const text = await ann.send("PATCH", `/svc_file/${id}`, { body: fileForm("t", "c.txt") });
    expect(text.body.data[0]).toMatchObject({ width: null, height: null, filesize: 1 });
  });

  test("refused for any reason, the bytes are the former ones and nothing new is kept", async () => {
    const { id } = await uploaded(ann, "former", "a.txt", { isPublic: "true" });
    const before = await keptIn(database);
    const stranger = await signIn(`${stack.appUrl}/api`, {
      email: "nobody@example.com",
      password: "correct horse battery",
    });
    const tries = [
      [anonymous, fileForm("new", "n.txt"), 401],
      [stranger, fileForm("new", "n.txt"), 403],
      [ann, fileForm("new", "n.txt", { unknown: "part" }), 400],
      [ann, fileForm(Buffer.alloc(LIMIT + 1), "n.txt"), 413],
    ] as const;
    for (const [api, body, expected] of tries)
      expect((await api.send("PATCH", `/svc_file/${id}`, { body })).status).toBe(expected);
    const unknown = await ann.send("PATCH", `/svc_file/${"0".repeat(24)}`, { body: fileForm("n", "n") });
    expect(unknown.status).toBe(404);
    expect((await bytesOf(`/assets/${id}`)).toString()).toBe("former");
    expect(await keptIn(database)).toEqual(before);
  });

  test("a rule that lets only the title be changed lets no content be replaced: as with a filename in JSON", async () => {
    const { id } = await uploaded(ann, "former", "a.txt", { isPublic: "true" });
    const [role] = (await admin.post("/svc_role", { name: "captions" })).body.data;
    const rule = { role: role.id, table: "svc_file", action: "update" };
    await admin.post("/svc_permission", { ...rule, fields: "title" });
    const writer = { email: "captions@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...writer, role: role.id });
    const api = await signIn(`${stack.appUrl}/api`, writer);
    const send = (of = id) => api.send("PATCH", `/svc_file/${of}`, { body: fileForm("new", "n") });
    const refusals = async (of = id): Promise<unknown[]> => {
      const byName = await api.patch(`/svc_file/${of}`, { filename: "n" });
      const byContent = await send(of);
      const both = [byName, byContent].map(({ status, body }) => ({ status, message: body.message }));
      expect(both[1]).toEqual(both[0]);
      return [byName.status, byName.body.message];
    };
    expect((await api.patch(`/svc_file/${id}`, { title: "t" })).status).toBe(200);
    expect(await refusals()).toEqual([400, ["filename: unknown field"]]);
    await admin.post("/svc_permission", { ...rule, action: "read", fields: null });
    expect(await refusals()).toEqual([400, ["filename: you may not write it"]]);
    // One that presets the name in JSON lets nobody send content: that is told before any of it is read.
    const [named] = (
      await admin.post("/svc_permission", { ...rule, fields: "title", presets: { filename: "p" } })
    ).body.data;
    expect((await api.patch(`/svc_file/${id}`, { filename: "n" })).status).toBe(200);
    expect((await send()).body).toMatchObject({
      statusCode: 400,
      message: ["filename: you may not write it"],
    });
    await admin.delete(`/svc_permission/${named.id}`);
    // Of other files a rule lets it be written.
    await admin.post("/svc_permission", { ...rule, fields: "filename", filter: { title: "open" } });
    expect(await refusals()).toEqual([403, expect.stringContaining('"filename"')]);
    expect((await refusals("0".repeat(24)))[0]).toBe(404);
    expect((await api.patch(`/svc_file/${id}`, { title: "open" })).status).toBe(200);
    expect((await api.send("PATCH", `/svc_file/${id}`, { body: fileForm("newer", "n") })).status).toBe(200);
    expect((await bytesOf(`/assets/${id}`)).toString()).toBe("newer");
  });

  test("a rule that sets the name sets it for new content too, as one does for an upload", async () => {
    const [role] = (await admin.post("/svc_role", { name: "nameless" })).body.data;
    const rule = (action: string, filename: string) =>
      admin.post("/svc_permission", { role: role.id, table: "svc_file", action, presets: { filename } });
    await rule("create", "upload.bin");
    await rule("update", "a/replaced.bin");
    await admin.post("/svc_permission", { role: role.id, table: "svc_file", action: "read" });
    const nameless = { email: "nameless@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...nameless, role: role.id });
    const api = await signIn(`${stack.appUrl}/api`, nameless);
    const { id, filename } = await uploaded(api, "x", "Secret name.txt");
    expect(filename).toBe("upload.bin");
    const replaced = await api.send("PATCH", `/svc_file/${id}`, { body: fileForm("new", "Secret.txt") });
    expect(replaced.body.data).toMatchObject([{ filename: "replaced.bin", filesize: 3 }]);
  });

  test("writes what a rule presets, also where nothing but the content is sent", async () => {
    const { id } = await uploaded(ann, "former", "a.txt");
    const [role] = (await admin.post("/svc_role", { name: "revisers" })).body.data;
    const presets = { description: "revised" };
    await admin.post("/svc_permission", [
      { role: role.id, table: "svc_file", action: "read" },
      { role: role.id, table: "svc_file", action: "update", fields: "filename", presets },
    ]);
    const reviser = { email: "reviser@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...reviser, role: role.id });
    const api = await signIn(`${stack.appUrl}/api`, reviser);
    const { status, body } = await api.send("PATCH", `/svc_file/${id}`, { body: fileForm("new", "n.txt") });
    expect([status, body.data[0]]).toMatchObject([200, { filename: "n.txt", description: "revised" }]);
  });

  describe("by a rule for small files of one's own, beside a rule for all titles", () => {
    const carl = { email: "carl@example.com", password: "correct horse battery" };
    const rule = { table: "svc_file", action: "update" };
    let api: Api;
    let token: string;
    beforeAll(async () => {
      const [role] = (await admin.post("/svc_role", { name: "small files" })).body.data;
      await admin.post("/svc_permission", [
        { role: role.id, table: "svc_file", action: "read" },
        { ...rule, role: role.id, fields: "title,description" },
        {
          ...rule,
          role: role.id,
          fields: "filename",
          filter: { title: "his" },
          check: { filesize: { _lte: 100 } },
        },
      ]);
      await admin.post("/svc_user", { ...carl, role: role.id });
      api = await signIn(`${stack.appUrl}/api`, carl);
      token = (await apiOf(`${stack.appUrl}/api`).post("/auth/login", carl)).body.accessToken;
    });

    test("the check is asked about the new content, and one rule has to allow all of it", async () => {
      const { id } = await uploaded(admin, "former", "a.txt", { isPublic: "true", title: "his" });
      const before = await keptIn(database);
      const send = async (size: number, parts = {}) =>
        (await api.send("PATCH", `/svc_file/${id}`, { body: fileForm(Buffer.alloc(size), "n", parts) }))
          .status;
      expect(await send(500)).toBe(403);
      expect(await send(500, { description: "d" })).toBe(400);
      expect(await send(50, { description: "d" })).toBe(400);
      expect((await bytesOf(`/assets/${id}`)).toString()).toBe("former");
      expect(await keptIn(database)).toEqual(before);
      expect(await send(50)).toBe(200);
    });

    test("a file that is theirs no more when the body has come is left as it is: 403", async () => {
      const { id } = await uploaded(admin, "former", "a.txt", { isPublic: "true", title: "his" });
      const body = multipartBody([filePart("file", "n.bin", "a/b", Buffer.alloc(90))]);
      async function* slowly(): AsyncGenerator<Buffer> {
        yield body.subarray(0, -90);
        await until(
          async () => (await keptIn(database)).pending,
          (pending) => pending > 0,
          20_000,
        );
        await admin.patch(`/svc_file/${id}`, { title: "another's" });
        yield body.subarray(-90);
      }
      const url = `${stack.appUrl}/api/svc_file/${id}`;
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": MULTIPART };
      expect((await sendBody("PATCH", url, headers, slowly())).status).toBe(403);
      expect((await bytesOf(`/assets/${id}`)).toString()).toBe("former");
    });
  });

  test("several at once: one content is left, the others are gone", async () => {
    const { id } = await uploaded(ann, "0", "a.txt", { isPublic: "true" });
    const before = await keptIn(database);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        ann.send("PATCH", `/svc_file/${id}`, { body: fileForm(`content ${at}`, `${at}.txt`) }),
      ),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(statuses.has(200)).toBe(true);
    expect((await bytesOf(`/assets/${id}`)).toString()).toMatch(/^content \d$/);
    expect(await keptIn(database)).toEqual(before);
  });
});

describe("DELETE /svc_file/{id}", () => {
  test("removes the record, its bytes, and the pictures made from it", async () => {
    const before = await keptIn(database);
    const { id } = await uploaded(ann, await picture(50, 50), "p.png", { isPublic: "true" });
    expect((await fetch(`${stack.appUrl}/assets/${id}?width=10`)).status).toBe(200);
    expect((await keptIn(database)).variants).toBe(before.variants + 1);
    expect((await ann.delete(`/svc_file/${id}`)).status).toBe(200);
    expect(await keptIn(database)).toEqual(before);
    expect((await ann.get(`/assets/${id}`)).status).toBe(404);
  });

  test("against others who replace the content at the same moment: nothing is left", async () => {
    const before = await keptIn(database);
    for (let round = 0; round < 5; round += 1) {
      const { id } = await uploaded(ann, "former", "a.txt");
      const replaced = ann.send("PATCH", `/svc_file/${id}`, { body: fileForm("new", "n.txt") });
      await Promise.all([replaced, ann.delete(`/svc_file/${id}`)]);
    }
    expect(await keptIn(database)).toEqual(before);
  });
});

describe("relations to files", () => {
  test("a user's table links to files, by the same rules as to any table", async () => {
    const relation = { name: "cover", type: "many-to-one", table: "svc_file", onDelete: "CASCADE" };
    await admin.post("/svc_table", { name: "albums", columns: [], relations: [relation] });
    const { id } = await uploaded(admin, "x", "cover.txt");
    await admin.post("/albums", { cover: id });
    const { body } = await admin.get("/albums", {
      fields: "cover.filename",
      filter: { cover: { filesize: 1 } },
    });
    expect(body.data).toEqual([{ cover: { id, filename: "cover.txt" } }]);
    await admin.delete(`/svc_file/${id}`);
    expect((await admin.get("/albums")).body.data).toEqual([]);
  });
});

describe("uploads by cookie", () => {
  test("come from the right page, or are refused before anything is kept", async () => {
    const browser = new Browser(stack);
    await browser.logIn(ANN);
    const send = (headers: Record<string, string>) =>
      fetch(`${stack.appUrl}/api/svc_file`, {
        method: "POST",
        body: fileForm("x", "x.txt"),
        headers: { Cookie: browser.cookieHeader, ...headers },
      });
    expect((await send({ Origin: stack.appUrl, "Sec-Fetch-Site": "same-origin" })).status).toBe(201);
    const before = await keptIn(database);
    const foreign = [
      { Origin: "https://evil.example" },
      { "Sec-Fetch-Site": "cross-site" },
      { Origin: "null" },
    ];
    for (const headers of foreign) expect((await send(headers)).status).toBe(403);
    expect(await keptIn(database)).toEqual(before);
  });
});
