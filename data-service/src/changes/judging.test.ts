// Whose turn it is to be judged, of the streams that wait for a change.
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import type { Numbered } from "../mongo/journal-store.js";
import { ReadView } from "../permission/read-view.js";
import { ALWAYS } from "../query/ast.js";
import { authorizeRead, withParts } from "../query/authorize-read.js";
import { bindQuery } from "../query/bind-query.js";
import { catalog, column, rootView, table } from "../query/library-fixture.js";
import type { Wish } from "./judge.js";
import { Judging } from "./judging.js";

/** Shows prices only in some rows. */
const maskingView = new ReadView(catalog, () => ({
  rows: ALWAYS,
  grants: [
    { rows: ALWAYS, members: ({ name }) => name !== "price" },
    {
      rows: { kind: "test", column: column("books.title"), test: { op: "eq", value: "x" } },
      members: () => true,
    },
  ],
}));

function wishFor(filter: object, fields = "*", view = rootView): Wish {
  const parameters = { fields, filter: JSON.parse(JSON.stringify(filter)), filterFromText: false };
  const query = bindQuery(parameters, table("books"), view, { maxDepth: 7, maxLimit: undefined });
  const shown = authorizeRead(query, view);
  return { table: table("books"), view, shown, node: withParts(shown.root, { children: [] }) };
}

const DEMANDING = { author: { name: { _eq: "Ann" } } };

/** What a stream has read of the journal. */
function change(number: number): Numbered[] {
  const position = { number, entry: String(number).padStart(24, "0") };
  const entry = {
    id: new ObjectId(),
    table: "books",
    record: 1,
    kind: "updated" as const,
    revision: number,
    by: null,
    at: new Date(0),
  };
  return [{ entry, position }];
}

/** Judges, and counts how often and how many at once. */
function judgements() {
  const seen = { begun: 0, running: 0, most: 0 };
  const judge = async () => {
    seen.begun += 1;
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    await delay(5);
    seen.running -= 1;
    return [];
  };
  return { seen, judge };
}

const open = () => new AbortController().signal;
const STREAMS = Array.from({ length: 20 }, (_, at) => at);

describe("changes that many streams wait for", () => {
  it.each<[what: string, filter: object, fields: string, view?: ReadView]>([
    ["other tables are asked", DEMANDING, "*"],
    ["related records are counted", {}, "_count(reviews)"],
    ["the database is asked which of them match", { title: "x" }, "*"],
    ["the database is asked which of them show a field", {}, "price", maskingView],
  ])("are judged four at once where %s", async (_what, filter, fields, view = rootView) => {
    const judging = new Judging();
    const { seen, judge } = judgements();
    await Promise.all(
      STREAMS.map(() => judging.run(wishFor(filter, fields, view), change(1), open(), judge)),
    );
    expect([seen.begun, seen.most]).toEqual([20, 4]);
  });

  it("are judged at once where all of them are told, as they are", async () => {
    const judging = new Judging();
    const { seen, judge } = judgements();
    await Promise.all(STREAMS.map(() => judging.run(wishFor({}), change(1), open(), judge)));
    expect([seen.begun, seen.most]).toEqual([20, 20]);
  });

  it.each([
    ["much", DEMANDING],
    ["little", {}],
  ])(
    "are judged once for all that wish for the same, and anew for the next change: %s",
    async (_what, filter) => {
      const judging = new Judging();
      const { seen, judge } = judgements();
      const wish = wishFor(filter);
      await Promise.all(STREAMS.map(() => judging.run(wish, change(1), open(), judge)));
      await Promise.all(STREAMS.map(() => judging.run(wish, change(2), open(), judge)));
      expect(seen.begun).toBe(2);
    },
  );

  it("are not judged when every stream that waited is over, and are when one is not", async () => {
    const judging = new Judging();
    const { seen, judge } = judgements();
    const others = STREAMS.slice(0, 4).map(() => judging.run(wishFor(DEMANDING), change(1), open(), judge));
    const [gone, shared] = [wishFor(DEMANDING), wishFor(DEMANDING)];
    const over = AbortSignal.abort();
    const waiting = [
      judging.run(gone, change(1), over, judge),
      judging.run(shared, change(1), over, judge),
      judging.run(shared, change(1), open(), judge),
    ];
    await Promise.all([...others, ...waiting]);
    expect(seen.begun).toBe(5);
  });

  it("keep no stream waiting that is over, whatever the others wait for", async () => {
    const judging = new Judging();
    const wish = wishFor(DEMANDING);
    const over = new AbortController();
    const neverJudged = () => new Promise<never>(() => undefined);
    const waiting = [1, 2].map(() => judging.run(wish, change(1), over.signal, neverJudged));
    judging.run(wish, change(1), open(), neverJudged);
    over.abort();
    expect(await Promise.all(waiting)).toEqual([[], []]);
  });

  it("are judged for those that go on, though the first that came is over: also where little is asked", async () => {
    const judging = new Judging();
    const { seen, judge } = judgements();
    const wish = wishFor({});
    await Promise.all([
      judging.run(wish, change(1), AbortSignal.abort(), judge),
      judging.run(wish, change(1), open(), judge),
    ]);
    expect(seen.begun).toBe(1);
  });
});
