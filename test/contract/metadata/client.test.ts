// A client that a public generator makes from the document runs the tours of README.md and docs/tour.md.
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { asAdmin } from "../../support/api.js";
import { compile, run } from "../../support/compile.js";
import { projectRoot } from "../../support/run-state.js";
import { type Stack, startStack } from "../../support/stack.js";
import { makeTable, type Row } from "../records/make.js";

jest.setTimeout(240_000);

const GENERATOR = join(projectRoot, "test/node_modules/openapi-typescript/bin/cli.js");
/** The table of the README's tour. */
const BOOKS = {
  name: "books",
  columns: [
    { name: "title", type: "string", required: true },
    { name: "price", type: "decimal", rules: { min: "0" } },
    { name: "format", type: "enum", options: { values: ["paper", "ebook"] }, default: "paper" },
  ],
  relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "books" }],
};

let stack: Stack;
let folder: string;

beforeAll(async () => {
  stack = await startStack({ demo: true });
  folder = await mkdtemp(join(tmpdir(), "portico-client-"));
  const admin = await asAdmin(stack);
  await makeTable(admin, BOOKS);
  await writeFile(join(folder, "openapi.json"), JSON.stringify((await admin.get("/openapi.json")).body));
});
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("a generated client", () => {
  it("is made and type-checks, strictly", async () => {
    const made = await run([GENERATOR, join(folder, "openapi.json"), "-o", join(folder, "api.d.ts")], {});
    expect([made.code, made.errors]).toEqual([0, ""]);
    await copyFile(join(projectRoot, "test/client/tour.mts"), join(folder, "tour.ts"));
    expect(await compile(folder)).toEqual({ code: 0, output: "" });
  });

  it("runs the tours, with the answers that stand there", async () => {
    const { email, password } = stack.admin;
    const env = { API: `${stack.appUrl}/api`, EMAIL: email, PASSWORD: password };
    const tour = await run([join(folder, "out/tour.js")], env);
    expect(tour.errors).toBe("");
    const told: Row = JSON.parse(tour.output);
    expect(told).toMatchObject({
      cookieSignIn: "number",
      me: [{ email, isRootAdmin: true }],
      bread: { totalCount: 800, filterCount: 17 },
      table: [{ name: "shelves" }],
      sums: { views: { avg: 926.1725, max: 20632 }, comments: { count: 2400 } },
      book: [{ title: "Bread at home", author: { id: "61e8b014acff7fb4f32baed4", name: "村上 陽子" } }],
      changed: [{ title: "Bread at home", price: "17.50" }],
      code: "VALIDATION_ERROR",
      deleted: 200,
      signedOut: 200,
    });
    const pages = ["README.md", "docs/tour.md"].map((page) => readFile(join(projectRoot, page), "utf8"));
    const printedThere = (await Promise.all(pages)).join("");
    const printed: string[] = [told.newest, told.authors, told.liked, told.commenters].flat();
    expect(printed).toHaveLength(8);
    for (const each of printed) expect(printedThere).toContain(`"${each}"`);
    expect(told.violations).toHaveLength(3);
    for (const each of told.violations) expect(printedThere).toContain(JSON.stringify(each));
  });
});
