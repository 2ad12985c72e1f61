// Pictures made from a file: they go with it, even if it goes while one is made.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { makeLogger } from "@portico/shared/logger";
import sharp from "sharp";
import { type ContentLedger, makeContentLedger } from "../mongo/content-ledger.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { away } from "../mongo/driver-errors.js";
import { makeGridFsContent } from "../mongo/gridfs-content.js";
import { contentBytes } from "./content-bytes.js";
import { Contents } from "./contents.js";
import { readAssetParameters, type Transform, variantName } from "./image-parameters.js";
import { meantBy, variantOf } from "./variants.js";

const LEASE_MS = 60_000;
const WISH: Transform = { width: 5, height: undefined, fit: "cover", format: "png", quality: undefined };

let now = new Date();
const clock = { now: () => now };
let database: TestDatabase;
let ledger: ContentLedger;
let contents: Contents;

beforeAll(async () => {
  database = await openTestDatabase();
  ledger = makeContentLedger(database.db, "files");
  const store = makeGridFsContent(database.db, false, undefined);
  contents = new Contents({ ledger, store, clock, logger: makeLogger("test", "silent"), leaseMs: LEASE_MS });
});

afterAll(() => database?.close());

/** A file that is a small picture. */
async function pictureFile() {
  const bytes = await sharp({ create: { width: 10, height: 6, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  const key = await contents.write(
    (async function* () {
      yield bytes;
    })(),
  );
  const files = database.db.collection("files");
  await files.insertOne({ _contentKey: key });
  await contents.settle(key);
  return { files, key, source: { key, mimetype: "image/png", size: bytes.length } };
}

it("a picture of which nobody knows whether it was noted goes with its file, which was deleted meanwhile", async () => {
  const { files, key, source } = await pictureFile();
  const lost = away(new Error("the connection is closed"));
  const addVariant: ContentLedger["addVariant"] = async (variant, at) => {
    await contents.letGo([key], () => files.deleteMany({}));
    await ledger.addVariant(variant, at);
    throw lost;
  };
  const deps = { contents, ledger: { ...ledger, addVariant }, clock, requireSpace: undefined };
  await expect(variantOf(deps, source, WISH)).rejects.toBe(lost);
  // If the file's content comes first, its picture waits for another two.
  for (let sweeps = 0; sweeps < 4; sweeps += 1) {
    now = new Date(now.getTime() + LEASE_MS + 1);
    await contents.sweep();
  }
  const left = ["_content_pending", "_content_variants", "_content.files", "_content.chunks"];
  const counts = left.map((name) => database.db.collection(name).countDocuments());
  expect(await Promise.all(counts)).toEqual([0, 0, 0, 0]);
});

it("a new picture takes the place of another one, though all were made by a clock that is ahead", async () => {
  const { key, source } = await pictureFile();
  const make = (width: number, at: number) => {
    const deps = { contents, ledger, clock: { now: () => new Date(at) }, requireSpace: undefined };
    return variantOf(deps, source, { ...WISH, width });
  };
  for (let width = 101; width <= 124; width += 1) await make(width, now.getTime() + width);
  await make(1, now.getTime());
  const kept = (await ledger.variantsOf(key)).map(({ name }) => name);
  const widths = [...Array.from({ length: 23 }, (_, at) => 124 - at), 1];
  expect(kept).toEqual(widths.map((width) => variantName({ ...WISH, width })));
});

it("of sixty pictures at once each surplus one is removed once, and none before it can be read", async () => {
  const { key, source } = await pictureFile();
  let removals = 0;
  const removeVariant: ContentLedger["removeVariant"] = (variant) => {
    removals += 1;
    return ledger.removeVariant(variant);
  };
  const deps = { contents, ledger: { ...ledger, removeVariant }, clock, requireSpace: undefined };
  const sizes = Array.from({ length: 60 }, async (_, at) => {
    const { key: made, size } = await variantOf(deps, source, { ...WISH, width: at + 1 });
    return size - (await contentBytes(contents.store, made, size)).length;
  });
  expect(new Set(await Promise.all(sizes))).toEqual(new Set([0]));
  expect([removals, (await ledger.variantsOf(key)).length]).toEqual([36, 24]);
});

describe("wishes that differ by what means nothing have one name, and others have not", () => {
  it.each([
    ["image/jpeg", "width=9", "width=9&format=jpeg", true],
    ["image/jpeg", "width=9", "width=9&format=png", false],
    ["image/png", "width=9", "width=9&quality=50&format=png", true],
    ["image/gif", "width=9", "width=9&quality=50", true],
    ["image/gif", "width=9&format=jpeg", "width=9&format=jpeg&quality=50", false],
    ["image/png", "width=9", "width=9&fit=inside", true],
    ["image/png", "height=9", "height=9&fit=outside", true],
    ["image/png", "format=webp", "format=webp&fit=fill", true],
    ["image/png", "width=9&height=9", "width=9&height=9&fit=inside", false],
    // The other edge stays as it was; and a picture that is not made larger is put on a larger ground.
    ["image/png", "width=9", "width=9&fit=fill", false],
    ["image/png", "width=9", "width=9&fit=contain", false],
  ])("of %s: %s, %s: %p", (mimetype, one, other, isSame) => {
    const names = [one, other].map((search) => {
      const { transform } = readAssetParameters(search);
      return transform && variantName(meantBy(transform, { mimetype }));
    });
    expect(names[0] === names[1]).toBe(isSame);
  });
});
