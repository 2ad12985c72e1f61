// Short ways for tests to change tables and to read what a refusal says.
import { expect } from "@jest/globals";
import type { Answer, Api } from "../../support/api.js";
import type { Row } from "../records/make.js";

/** All columns of a table as it was read, one of them changed. */
export function columnsWith(table: Row, name: string, changes: object): Row[] {
  return table.columns.map((column: Row) =>
    column.name === name ? { id: column.id, ...changes } : { id: column.id },
  );
}

/** The record of a table. */
export async function tableNamed(api: Api, name: string): Promise<Row> {
  return (await api.get("/svc_table", { filter: { name } })).body.data[0];
}

/** The answer is a refusal with exactly these costs. */
export function expectDestructive(
  { status, body }: Answer,
  costs: readonly object[],
): { confirmHash: string | null; changes: Row[] } {
  expect([status, body.error?.code]).toEqual([409, "DESTRUCTIVE_CHANGE"]);
  const { changes, confirmHash } = body.error.details;
  expect(changes).toEqual(costs.map((cost) => expect.objectContaining(cost)));
  for (const { why } of changes) expect(why).toMatch(/\w/);
  return { confirmHash, changes };
}

/** Makes a destructive change the way a client does: asks, then confirms. */
export async function patchConfirmed(api: Api, id: string, body: object): Promise<Row> {
  const refused = await api.patch(`/svc_table/${id}`, body);
  expect(refused.status).toBe(409);
  const { confirmHash } = refused.body.error.details;
  const { status, body: answer } = await api.patch(`/svc_table/${id}`, body, { confirm: confirmHash });
  expect([status, answer.message]).toEqual([200, "Success"]);
  return answer.data[0];
}

/** Deletes a table that has records the way a client does: asks, then confirms. */
export async function deleteConfirmed(api: Api, id: string): Promise<void> {
  const { body } = await api.delete(`/svc_table/${id}`);
  const confirm = body.error.details.confirmHash;
  expect((await api.delete(`/svc_table/${id}?confirm=${confirm}`)).status).toBe(200);
}
