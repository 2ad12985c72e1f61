// Permission rules for tests that need somebody who is not root.
import { type Api, accepted } from "./api.js";

const ACTIONS = ["read", "create", "update", "delete"] as const;

/** Makes rules that let a role do everything with these tables, hidden columns left out. @param role null = everyone */
export async function allowAll(admin: Api, tables: readonly string[], role: string | null): Promise<void> {
  if (tables.length === 0) return;
  const rules = tables.flatMap((table) => ACTIONS.map((action) => ({ role, table, action })));
  await accepted(admin.post("/svc_permission", rules));
}

/** Makes a role that may do everything with these tables. @returns its id */
export async function roleFor(admin: Api, name: string, tables: readonly string[]): Promise<string> {
  const [{ id }] = await accepted(admin.post("/svc_role", { name }));
  await allowAll(admin, tables, id);
  return id;
}
