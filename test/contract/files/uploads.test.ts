// Contract 8: a file goes up as multipart, its bytes are kept, its record is like any other.
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { fileForm, keptIn, picture, upload, uploaded } from "../../support/files.js";
import { roleFor } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";

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
      ...{ id: expect.stringMatching(/^[0-9a-f]{24}$/), filename: "note.txt", title: "A note" },
      ...{ description: null, mimetype: "text/plain", filesize: 5, width: null, height: null },
      ...{ isPublic: false, folder: null, uploadedBy: { id: expect.any(String) } },
      ...{ createdAt: expect.any(String), updatedAt: expect.any(String) },
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
