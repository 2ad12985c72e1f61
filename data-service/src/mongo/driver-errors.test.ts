// The driver's errors -> refusals, and what they name.
import { describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoWriteConcernError,
} from "mongodb";
import { buildCatalog } from "../catalog/build-catalog.js";
import { bareColumn, bareRelation, bareTable } from "../catalog/definition-fixture.js";
import { asRefusal, isAgainstDocument, isDuplicate, isUnanswered } from "./driver-errors.js";

/** `shelf` was renamed to `rack`; its data lies under the old name. */
const definition = bareTable("items", {
  singleton: true,
  columns: [bareColumn("code", { unique: true }), bareColumn("rack", { id: "shelf" }), bareColumn("place")],
  relations: [bareRelation("owner", "items")],
  uniques: [
    ["rack", "place"],
    ["owner", "place"],
  ],
  storage: {
    collection: "items",
    fields: { code: "code", shelf: "shelf", place: "place", owner: "ownerId" },
  },
});
const table = buildCatalog(0, [definition], []).tables.get("items");

const duplicate = (facts: object) => new MongoServerError({ message: "E11000", code: 11_000, ...facts });

/** What the client is told. */
function told(error: unknown): object {
  const refusal = asRefusal(error, table);
  if (!(refusal instanceof AppError)) return { passed: refusal };
  return { code: refusal.code, message: refusal.messages, details: refusal.details };
}

describe("a duplicate", () => {
  it("is named by the fields that the server tells", () => {
    expect(told(duplicate({ keyPattern: { code: 1 } }))).toMatchObject({
      code: "DUPLICATE_RESOURCE",
      details: { fields: ["code"] },
      message: 'code: a record of "items" with this value exists already',
    });
  });

  it("is named by the index in the text where the server's fields were dropped, as by insertMany", () => {
    const message = "E11000 duplicate key error collection: db.items index: shelf_1_place_1 dup key: { … }";
    expect(told(duplicate({ message }))).toMatchObject({ details: { fields: ["rack", "place"] } });
  });

  it("is named also by an index that a change of the table has built", () => {
    const index = "portico_shelf_1_place_1_0123456789abcdef01234567";
    const message = `E11000 duplicate key error collection: db.items index: ${index} dup key: { … }`;
    expect(told(duplicate({ message }))).toMatchObject({ details: { fields: ["rack", "place"] } });
  });

  it("is named by members and not by where they are stored", () => {
    const keyPattern = { ownerId: 1, place: 1 };
    expect(told(duplicate({ keyPattern }))).toMatchObject({ details: { fields: ["owner", "place"] } });
  });

  it("does not read an index out of a value that only looks like one", () => {
    const message =
      'E11000 duplicate key error collection: db.items index: code_1 dup key: { code: " index: shelf_1_place_1 dup key" }';
    expect(told(duplicate({ message }))).toMatchObject({ details: { fields: ["code"] } });
  });

  it("of the only record of a singleton is a conflict", () => {
    expect(told(duplicate({ keyPattern: { _only: 1 } }))).toMatchObject({ code: "CONFLICT" });
  });

  it("shows nothing of the driver's text", () => {
    const message = 'E11000 duplicate key error collection: db.items index: code_1 dup key: { code: "x" }';
    expect(JSON.stringify(told(duplicate({ message })))).not.toMatch(/E11000|dup key|db\.items/);
  });

  it("is told from other failures", () => {
    expect([duplicate({}), new MongoServerError({ code: 50 }), new Error("x")].map(isDuplicate)).toEqual([
      ...[true, false, false],
    ]);
  });
});

/** What became of several writes, which the set has confirmed, or not. */
const resultWith = (concern?: object) =>
  ({ getWriteConcernError: () => concern }) as unknown as BulkWriteResult;

describe("other failures", () => {
  it.each([
    [50, "QUERY_TIMEOUT"],
    [61, "CONFLICT"],
    [121, "CONFLICT"],
    ...[43, 175, 237, 365].map((code): [number, string] => [code, "SERVICE_UNAVAILABLE"]),
    [10_334, "BAD_REQUEST"],
    [17_419, "BAD_REQUEST"],
  ])("code %i is %s", (code, expected) => {
    expect(told(new MongoServerError({ message: "x", code }))).toMatchObject({ code: expected });
  });

  it("of the network are 503 with Retry-After", () => {
    const refusal = asRefusal(new MongoNetworkError("connect ECONNREFUSED 10.0.0.1"));
    expect(refusal).toMatchObject({ code: "SERVICE_UNAVAILABLE", headers: { "Retry-After": "2" } });
  });

  it.each([
    ["MongoWaitQueueTimeoutError", "The database has too much to do; try again in a moment."],
    ["MongoPoolClosedError", "The database can not be reached; try again shortly."],
  ])("of the pool are 503: %s", (name, message) => {
    const error = Object.defineProperty(new MongoError("words of the driver"), "name", { value: name });
    expect(told(error)).toMatchObject({ code: "SERVICE_UNAVAILABLE", message });
  });

  it("of the pool say nothing of what several commands of one write have done before", () => {
    const full = Object.defineProperty(new MongoError("x"), "name", { value: "MongoWaitQueueTimeoutError" });
    const counts = { insertedCount: 0, matchedCount: 0, upsertedCount: 0, deletedCount: 0 };
    const after = (inserted: number) =>
      new MongoBulkWriteError(full, {
        ...counts,
        insertedCount: inserted,
        getWriteConcernError: () => undefined,
      } as unknown as BulkWriteResult);
    expect([after(0), after(1)].map(isUnanswered)).toEqual([false, true]);
    expect(told(after(1))).toMatchObject({
      message: "The database can not be reached; try again shortly.",
    });
  });

  it("of a full disk are 503 with Retry-After", () => {
    const refusal = asRefusal(new MongoServerError({ message: "available disk space", code: 14_031 }));
    expect(refusal).toMatchObject({ code: "SERVICE_UNAVAILABLE", headers: { "Retry-After": "60" } });
  });

  it("of the network are 503 too when a bulk write has wrapped them", () => {
    const lost = new MongoNetworkError("connect ECONNREFUSED");
    const wrapped = new MongoBulkWriteError(lost, {} as BulkWriteResult);
    expect(asRefusal(wrapped)).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });

  it("of a write that others of its set have not heard of are 503, and nobody knows whether it stays", () => {
    const error = new MongoServerError({ message: "waiting for replication timed out", code: 64 });
    const refusal = asRefusal(error);
    expect(refusal).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect([isUnanswered(error), isUnanswered(refusal)]).toEqual([true, true]);
  });

  it.each([6, 7, 89, 91, 133, 134, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436])(
    "of a server that is away (code %i) are 503 with Retry-After, and nobody knows what became of a write",
    (code) => {
      const error = new MongoServerError({ message: "x", code });
      expect(asRefusal(error)).toMatchObject({
        code: "SERVICE_UNAVAILABLE",
        headers: { "Retry-After": "2" },
      });
      expect(isUnanswered(error)).toBe(true);
    },
  );

  it.each([64, 100, 11_601])(
    "of a write that was made and not confirmed are 503, whatever the code (%i)",
    (code) => {
      const single = new MongoWriteConcernError({ ok: 1, writeConcernError: { code, errmsg: "x" } });
      const bulk = new MongoBulkWriteError({ message: "x", code }, resultWith({ code }));
      for (const error of [single, bulk]) {
        expect(asRefusal(error)).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
        expect([isUnanswered(error), isUnanswered(asRefusal(error))]).toEqual([true, true]);
      }
    },
  );

  it("of several writes are those of their documents only where all of them are", () => {
    const refused = { message: "Document failed validation", code: 121 };
    const bulk = (writeErrors: object[], concern?: object) => {
      const bulkError = new MongoBulkWriteError(new MongoServerError(refused), resultWith(concern));
      return Object.assign(bulkError, { writeErrors });
    };
    expect(isAgainstDocument(new MongoServerError(refused))).toBe(true);
    expect(isAgainstDocument(bulk([refused, { message: "too large", code: 17_419 }]))).toBe(true);
    expect(isAgainstDocument(bulk([refused, { message: "x", code: 1 }]))).toBe(false);
    expect(isAgainstDocument(bulk([refused], { code: 64 }))).toBe(false);
  });

  it("that nobody foresaw stay what they are", () => {
    const error = new MongoServerError({ message: "x", code: 1 });
    expect(told(error)).toEqual({ passed: error });
  });
});
