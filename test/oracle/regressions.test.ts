// Differences between service and oracle that were bugs of the service, each made small and named.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Blueprint, Request } from "./blueprint.js";
import { build } from "./build.js";
import { compareAnswers } from "./difference.js";
import { type RunningService, startDataService } from "./harness.js";
import { freshPrefix } from "./shrink.js";

let service: RunningService;

beforeAll(async () => {
  service = await startDataService();
});

afterAll(() => service.stop());

async function differenceIn(blueprint: Blueprint, request: Request): Promise<unknown> {
  const built = await build(service.api, blueprint, freshPrefix());
  return (await compareAnswers(service.api, built, request)).difference;
}

/** People with a chief: the second works for the first. */
const people: Blueprint = {
  tables: [
    {
      name: "people",
      idType: "int",
      columns: [{ name: "name", type: "string" }],
      relations: [
        { name: "chief", type: "many-to-one", table: "people", inverse: "staff", written: "patch" },
        { name: "partner", type: "one-to-one", table: "people", inverse: "partnerOf", written: "patch" },
      ],
      rows: [
        { values: { name: "Ann" }, erased: {}, links: {} },
        { values: { name: "Bob" }, erased: {}, links: { chief: [0], partner: [0] } },
      ],
    },
  ],
};

function listPeople(parameters: Request["parameters"]): Request {
  return { table: "people", transport: "get", parameters };
}

describe("deep", () => {
  it.each(["-chief,chief.name", "-chief,-chief.name"])(
    "loads a relation that fields=%s both excludes and goes into",
    async (fields) => {
      expect(await differenceIn(people, listPeople({ fields, deep: { chief: {} } }))).toBeUndefined();
    },
  );
});

describe("deep beside fields that say all but", () => {
  it("loads the whole record of a relation that fields also names, for such names are ignored", async () => {
    const parameters = { fields: "chief,-partner", deep: { chief: {} } };
    expect(await differenceIn(people, listPeople(parameters))).toBeUndefined();
  });
});

describe("an empty list directly on a relation", () => {
  it.each(["chief", "partner", "partnerOf", "staff"])(
    "matches nothing, and its opposite everything: %s",
    async (name) => {
      const filter = { _not: { [name]: { _in: [] } } };
      expect(await differenceIn(people, listPeople({ filter }))).toBeUndefined();
    },
  );
});
