// The list of faults follows the code: each text stands where it is looked for, and the page on testing names it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { projectRoot } from "../support/run-state.js";
import { FAULTS } from "./faults.js";

describe.each(FAULTS)("the fault “$name”", ({ name, file, find }) => {
  test("changes one place of the compiler", async () => {
    const code = await readFile(join(projectRoot, "data-service/dist", file), "utf8");
    expect(code.split(find).length - 1).toBe(1);
  });

  test("is named in docs/testing.md", async () => {
    expect(await readFile(join(projectRoot, "docs/testing.md"), "utf8")).toContain(`- ${name}\n`);
  });
});
