// Short ways for tests to make tables and records, failing loudly when the API refuses.
import { type Answer, type Api, accepted } from "../../support/api.js";

/** A record as it comes back: tests look into records of every shape. */
export type Row = Answer["body"];

/** Makes a table. */
export async function makeTable(api: Api, definition: Readonly<Record<string, unknown>>): Promise<Row> {
  return make(api, "svc_table", definition);
}

/** Creates one record. */
export async function make(api: Api, table: string, body: unknown): Promise<Row> {
  return (await accepted(api.post(`/${table}`, body)))[0];
}

/** Reads one record; undefined when it is gone. */
export async function read(api: Api, table: string, id: unknown, fields = "*"): Promise<Row> {
  const { status, body } = await api.get(`/${table}/${id}`, { fields });
  return status === 200 ? body.data[0] : undefined;
}

/** All records of a table that match, by one column, in order of it. */
export async function valuesOf(api: Api, table: string, column: string, filter = {}): Promise<Row[]> {
  const { body } = await api.get(`/${table}`, { fields: column, filter, limit: "0", sort: column });
  return body.data.map((row: Row) => row[column]);
}

/** Counts answers by status: `{201: 1, 409: 99}`. */
export function tally(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Runs the calls at the same time. */
export function atOnce<Result>(count: number, call: (at: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => call(at)));
}
