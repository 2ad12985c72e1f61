// The matrix of permissions: who asks, by which road, for what. Each part alone; the test crosses them.
import { type Answer, type Api, search } from "../../support/api.js";
import type { Row } from "../records/make.js";

/** What a caller may do with one column. */
export interface ColumnRight {
  /** Its value is shown in rows the caller sees. */
  readonly shown: boolean;
  /** It can be filtered, sorted and aggregated by. */
  readonly compared: boolean;
  readonly written: boolean;
}

export interface Role {
  readonly name: string;
  readonly caller: "anonymous" | "user" | "token" | "root";
  /** Rules of `notes`, each for every action. */
  readonly rules: readonly Row[];
  /** Their `filter` is for reading alone. */
  readonly writesAll?: boolean;
  /** The answer to anything asked of `notes` itself, for those without a rule. */
  readonly door?: 401 | 403;
  /** Whether it sees, changes and deletes the row with the status "done". */
  readonly row: boolean;
  readonly salary: ColumnRight;
  readonly secret: ColumnRight;
}

const ALL: ColumnRight = { shown: true, compared: true, written: true };
const NONE: ColumnRight = { shown: false, compared: false, written: false };
const OPEN_ROWS = { filter: { status: "open" } };
const FEW_COLUMNS = { fields: "title,status,team" };

export const ROLES: readonly Role[] = [
  { name: "a visitor without a rule", caller: "anonymous", rules: [], door: 401, ...closed() },
  { name: "a user without a rule", caller: "user", rules: [], door: 403, ...closed() },
  {
    name: "a visitor with a rule for rows",
    caller: "anonymous",
    rules: [{ role: null, ...OPEN_ROWS }],
    row: false,
    salary: ALL,
    secret: NONE,
  },
  {
    name: "a user with a rule for rows",
    caller: "user",
    rules: [OPEN_ROWS],
    row: false,
    salary: ALL,
    secret: NONE,
  },
  {
    name: "a user who may change and delete more rows than they may read",
    caller: "user",
    rules: [OPEN_ROWS],
    writesAll: true,
    row: false,
    salary: ALL,
    secret: NONE,
  },
  {
    name: "a user with a rule for columns",
    caller: "user",
    rules: [FEW_COLUMNS],
    row: true,
    salary: NONE,
    secret: NONE,
  },
  {
    name: "a user with a rule for both",
    caller: "user",
    rules: [{ ...OPEN_ROWS, ...FEW_COLUMNS }],
    row: false,
    salary: NONE,
    secret: NONE,
  },
  {
    name: "a user who is granted the hidden column",
    caller: "user",
    rules: [{ fields: "title,status,team,salary,secret" }],
    row: true,
    salary: ALL,
    secret: ALL,
  },
  {
    name: "a user with a rule that shows a column in some rows, and one for all rows",
    caller: "user",
    rules: [{ ...OPEN_ROWS, fields: "title,status,team,salary" }, FEW_COLUMNS],
    row: true,
    salary: { shown: true, compared: false, written: true },
    secret: NONE,
  },
  {
    name: "a user with a rule for all columns, beside one for few",
    caller: "user",
    rules: [{}, { ...FEW_COLUMNS, role: null }],
    row: true,
    salary: ALL,
    secret: NONE,
  },
  {
    name: "a read-only token of a user with a rule for rows",
    caller: "token",
    rules: [OPEN_ROWS],
    row: false,
    salary: { ...ALL, written: false },
    secret: NONE,
  },
  { name: "a root admin", caller: "root", rules: [], row: true, salary: ALL, secret: ALL },
];

function closed() {
  return { row: false, salary: NONE, secret: NONE } as const;
}

/** The records that requests speak of. */
export interface World {
  /** Id of the note with the status "open", which every role with a rule sees. */
  readonly seen: string;
  /** Id of the note with the status "done". */
  readonly unseen: string;
  readonly red: string;
  readonly blue: string;
}

/** Where `notes` is asked: itself, or through a relation of a table that everybody may read. */
type Door = "notes" | "relation";

export interface ColumnRoad {
  readonly name: string;
  readonly door: Door;
  readonly need: keyof ColumnRight;
  /** Asks by the column. */
  ask(api: Api, column: string, value: unknown, world: World): Promise<Answer>;
  /** True for roads that write, and do not need a column that may be written. */
  readonly writes?: boolean;
  /** Undefined: an answer of 2xx is all it takes. */
  readonly answersWith?: "value";
}

/** The answer to an export, told as the others: its text is the data. */
async function exported(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  return answer.status === 200 ? { ...answer, body: { message: "Success", data: answer.body } } : answer;
}

const ndjson = (line: unknown): RequestInit => ({
  body: `${JSON.stringify(line)}\n`,
  headers: { "Content-Type": "application/x-ndjson" },
});
const json = (body: unknown): RequestInit => ({
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json" },
});
const own = (at: Omit<ColumnRoad, "door">): ColumnRoad => ({ ...at, door: "notes" });
const through = (at: Omit<ColumnRoad, "door">): ColumnRoad => ({ ...at, door: "relation" });

export const COLUMN_ROADS: readonly ColumnRoad[] = [
  own({
    name: "fields of a list",
    need: "shown",
    answersWith: "value",
    ask: (api, column) => api.get("/notes", { fields: column }),
  }),
  own({
    name: "fields of a record",
    need: "shown",
    answersWith: "value",
    ask: (api, column, _, { seen }) => api.get(`/notes/${seen}`, { fields: column }),
  }),
  own({
    name: "fields of a QUERY",
    need: "shown",
    answersWith: "value",
    ask: (api, column) => api.send("QUERY", "/notes", json({ fields: column })),
  }),
  own({
    name: "fields of an export",
    need: "shown",
    answersWith: "value",
    ask: (api, column) =>
      exported(api.get("/notes", { fields: column, format: "ndjson", filter: { status: "open" } })),
  }),
  through({
    name: "fields through a relation",
    need: "shown",
    answersWith: "value",
    ask: (api, column) => api.get("/teams", { fields: `notes.${column}` }),
  }),
  through({
    name: "deep",
    need: "shown",
    answersWith: "value",
    ask: (api, column) => api.get("/teams", { deep: { notes: { fields: column } } }),
  }),
  through({
    name: "fields of a write's answer, through relations",
    need: "shown",
    writes: true,
    answersWith: "value",
    ask: (api, column, _, { red }) => api.patch(`/teams/${red}`, {}, { fields: `notes.${column}` }),
  }),
  own({
    name: "a filter",
    need: "compared",
    ask: (api, column, value) => api.get("/notes", { filter: { [column]: value } }),
  }),
  own({
    name: "a filter in brackets",
    need: "compared",
    ask: (api, column, value) => api.get(`/notes?filter[${column}][_eq]=${value}`),
  }),
  own({
    name: "a filter under _not and _or",
    need: "compared",
    ask: (api, column) =>
      api.get("/notes", { filter: { _or: [{ _not: { [column]: { _is_null: true } } }] } }),
  }),
  through({
    name: "a filter through a relation",
    need: "compared",
    ask: (api, column, value) => api.get("/teams", { filter: { notes: { [column]: value } } }),
  }),
  through({
    name: "a filter in deep",
    need: "compared",
    ask: (api, column, value) => api.get("/teams", { deep: { notes: { filter: { [column]: value } } } }),
  }),
  own({
    name: "sort",
    need: "compared",
    ask: (api, column) => api.get("/notes", { sort: `-${column}` }),
  }),
  through({
    name: "sort by a to-one relation",
    need: "compared",
    ask: (api, column) => api.get("/remarks", { sort: `note.${column}` }),
  }),
  through({
    name: "sort in deep",
    need: "compared",
    ask: (api, column) => api.get("/teams", { deep: { notes: { sort: column } } }),
  }),
  through({
    name: "sort by the greatest of the children",
    need: "compared",
    ask: (api, column) => api.get("/teams", { sort: `-_max(notes.${column})` }),
  }),
  own({
    name: "aggregate",
    need: "compared",
    ask: (api, column) => api.get("/notes", { aggregate: { [column]: { max: true } } }),
  }),
  own({
    name: "an export's filter",
    need: "compared",
    ask: (api, column, value) =>
      exported(api.get("/notes", { filter: { [column]: value }, format: "csv", fields: "id" })),
  }),
  own({
    name: "the body of a POST",
    need: "written",
    ask: (api, column, value, { red }) => api.post("/notes", { title: "made", team: red, [column]: value }),
  }),
  own({
    name: "a line of an import",
    need: "written",
    ask: (api, column, value) =>
      api.send("POST", "/notes/import?dryRun=true", ndjson({ title: "made", [column]: value })),
  }),
  own({
    name: "a PATCH of many",
    need: "written",
    ask: (api, column, value, { seen }) =>
      api.patch("/notes", { [column]: value }, { filter: { id: seen }, dryRun: true }),
  }),
  own({
    name: "the filter of a PATCH of many",
    need: "compared",
    writes: true,
    ask: (api, column, value) =>
      api.patch("/notes", { title: "seen" }, { filter: { [column]: value }, dryRun: true }),
  }),
  own({
    name: "the filter of a DELETE of many",
    need: "compared",
    writes: true,
    ask: (api, column, value) =>
      api.send("DELETE", `/notes${search({ filter: { [column]: value }, dryRun: true })}`),
  }),
  through({
    name: "a record inside a body",
    need: "written",
    ask: (api, column, value) =>
      api.post("/remarks", { text: "linked", note: { title: "made", status: "open", [column]: value } }),
  }),
  own({
    name: "the body of a PATCH",
    need: "written",
    ask: (api, column, value, { seen }) => api.patch(`/notes/${seen}`, { [column]: value }),
  }),
];

export interface RowRoad {
  readonly name: string;
  readonly door: Door;
  /** True for roads that write. */
  readonly writes?: boolean;
  ask(api: Api, id: string, world: World): Promise<Answer>;
  /** Whether an answer of 2xx speaks of the row; undefined: such an answer is enough. */
  tells?(body: Row): boolean;
}

const mentions = (body: Row): boolean => JSON.stringify(body).includes("unseen");
const first = (body: Row): string => body.data[0].name;
const row = (at: Omit<RowRoad, "door">): RowRoad => ({ ...at, door: "notes" });
const related = (at: Omit<RowRoad, "door">): RowRoad => ({ ...at, door: "relation" });

export const ROW_ROADS: readonly RowRoad[] = [
  row({ name: "a list", ask: (api) => api.get("/notes"), tells: mentions }),
  row({ name: "its id", ask: (api, id) => api.get(`/notes/${id}`) }),
  row({
    name: "a filter",
    ask: (api, id) => api.get("/notes", { filter: { id }, fields: "id" }),
    tells: ({ data }) => data.length > 0,
  }),
  row({
    name: "totalCount",
    ask: (api) => api.get("/notes", { meta: "totalCount", fields: "id" }),
    tells: ({ meta }) => meta.totalCount > 1,
  }),
  row({
    name: "filterCount",
    ask: (api, id) => api.get("/notes", { meta: "filterCount", filter: { id }, fields: "id" }),
    tells: ({ meta }) => meta.filterCount > 0,
  }),
  row({
    name: "aggregate",
    ask: (api) => api.get("/notes", { aggregate: { title: { max: true } }, fields: "id", filter: {} }),
    tells: ({ meta }) => meta.aggregate.title.max === "unseen",
  }),
  row({ name: "an export", ask: (api) => exported(api.get("/notes", { format: "csv" })), tells: mentions }),
  related({
    name: "a to-one relation",
    ask: (api) => api.get("/remarks", { fields: "note.title" }),
    tells: mentions,
  }),
  related({
    name: "to-one ids",
    ask: (api, id) => api.get("/remarks", { fields: "note", filter: { note: id } }),
    tells: ({ data }) => data.length > 0,
  }),
  related({
    name: "existence of a to-one",
    ask: (api) => api.get("/remarks", { filter: { note: { _is_not_null: true } }, fields: "id" }),
    tells: ({ data }) => data.length > 1,
  }),
  related({
    name: "a to-many relation",
    ask: (api) => api.get("/teams", { fields: "notes.title" }),
    tells: mentions,
  }),
  related({
    name: "deep",
    ask: (api) => api.get("/teams", { deep: { notes: { limit: 0 } } }),
    tells: mentions,
  }),
  related({
    name: "a filter through a to-many",
    ask: (api) => api.get("/teams", { filter: { notes: { title: "unseen" } } }),
    tells: ({ data }) => data.length > 0,
  }),
  related({
    name: "a negated filter through a to-many",
    ask: (api) => api.get("/teams", { filter: { _not: { notes: { title: "unseen" } } } }),
    tells: ({ data }) => data.length < 2,
  }),
  related({
    name: "absence of a to-many",
    ask: (api) => api.get("/teams", { filter: { notes: { _is_null: true } } }),
    tells: ({ data }) => data.length === 0,
  }),
  related({
    name: "sort by the number of children",
    ask: (api) => api.get("/teams", { sort: "-_count(notes),name" }),
    tells: (body) => first(body) === "blue",
  }),
  related({
    name: "sort by the greatest of the children",
    ask: (api) => api.get("/teams", { sort: "-_max(notes.title)" }),
    tells: (body) => first(body) === "blue",
  }),
  related({
    name: "aggregate over relations",
    ask: (api) => api.get("/teams", { aggregate: { notes: { count: true } } }),
    tells: ({ meta }) => meta.aggregate.notes.count > 1,
  }),
  row({ name: "a PATCH", writes: true, ask: (api, id) => api.patch(`/notes/${id}`, { title: "unseen" }) }),
  row({ name: "a DELETE", writes: true, ask: (api, id) => api.delete(`/notes/${id}`) }),
  row({
    name: "a PATCH of many",
    writes: true,
    ask: (api, id) => api.patch("/notes", { title: "unseen" }, { filter: { id } }),
    tells: ({ meta }) => meta.matched > 0,
  }),
  row({
    name: "a DELETE of many",
    writes: true,
    ask: (api, id) => api.send("DELETE", `/notes${search({ filter: { id }, dryRun: true })}`),
    tells: ({ meta }) => meta.matched > 0,
  }),
  related({
    name: "a link in a line of an import",
    writes: true,
    ask: (api, id) => api.send("POST", "/remarks/import?dryRun=true", ndjson({ text: "linked", note: id })),
  }),
  related({
    name: "a link",
    writes: true,
    ask: (api, id) => api.post("/remarks", { text: "linked", note: id }),
  }),
  related({
    name: "a link from the other side",
    writes: true,
    ask: (api, id, { seen, red }) => api.patch(`/teams/${red}`, { notes: [seen, id] }),
  }),
];

/** What describes the API: for each place, how a column and the table are named there. */
export const DESCRIPTIONS: readonly {
  readonly name: string;
  ask(api: Api): Promise<Answer>;
  readonly column: (name: string) => RegExp;
}[] = [
  {
    name: "metadata of the table",
    ask: (api) => api.get("/metadata/notes"),
    column: (name) => new RegExp(`"name":"${name}"`),
  },
  {
    name: "metadata of all tables",
    ask: (api) => api.get("/metadata"),
    column: (name) => new RegExp(`"name":"${name}"`),
  },
  {
    name: "the OpenAPI document",
    ask: (api) => api.get("/openapi.json"),
    column: (name) => new RegExp(`"${name}":`),
  },
  {
    name: "types",
    ask: (api) => api.get("/types.ts"),
    column: (name) => new RegExp(`\\b${name}\\??:`),
  },
];
