// What a caller may not see makes no difference to any answer: the same request is sent before and after everything
// outside the caller's rules has changed, and must be answered in the same bytes.
import fc from "fast-check";
import type { Blueprint, Request } from "../oracle/blueprint.js";
import { type Built, build } from "../oracle/build.js";
import { type Draw, drawn, fromSeed } from "../oracle/draw.js";
import { anyBlueprint, valueOfType } from "../oracle/generate-data.js";
import { anyRequest } from "../oracle/generate-request.js";
import { roadOf, startDataService } from "../oracle/harness.js";
import { inParallel } from "../oracle/in-parallel.js";
import type { Id, Json, Row, Table } from "../oracle/model.js";
import { send } from "../oracle/send.js";
import { freshPrefix } from "../oracle/shrink.js";
import { type Api, accepted, signIn } from "../support/api.js";

const REQUESTS_PER_CASE = 25;
/** Each database goes down another of the planner's roads. */
const CASES_PER_DATABASE = 3;
const READER = { email: "reader@example.com", password: "reader's password" };

/** Rules for reading one table. Rows are chosen by id, so that what changes can't change what is seen. */
interface TableRule {
  readonly table: string;
  /** null = every row. */
  readonly ids: readonly Id[] | null;
  readonly names: readonly string[];
}

export interface Leak {
  readonly seed: number;
  /** Settings of the data service. */
  readonly road: Readonly<Record<string, string>>;
  readonly request: Request;
  readonly rules: readonly TableRule[];
  readonly before: string;
  readonly after: string;
}

export interface NonInterferenceOptions {
  readonly pairs: number;
  readonly seed: number;
  readonly progress?: (done: number, leaks: readonly Leak[]) => void;
}

export interface NonInterferenceResult {
  /** Requests whose answers told something. */
  readonly leaks: readonly Leak[];
  /** Requests that were answered with records before the changes: only these could tell much. */
  readonly telling: number;
  /** Changes of what may not be seen that were made, and not refused. */
  readonly changes: number;
}

/** Runs that many pairs. */
export async function run({ pairs, seed, progress }: NonInterferenceOptions): Promise<NonInterferenceResult> {
  const leaks: Leak[] = [];
  let telling = 0;
  let changes = 0;
  let world = await open(0);
  try {
    for (let at = 0; at * REQUESTS_PER_CASE < pairs && leaks.length < 5; at += 1) {
      if (at > 0 && at % CASES_PER_DATABASE === 0) {
        await world.stop();
        world = await open(at / CASES_PER_DATABASE);
      }
      const count = Math.min(REQUESTS_PER_CASE, pairs - at * REQUESTS_PER_CASE);
      const result = await runCase(world, seed + at, count);
      leaks.push(...result.leaks);
      telling += result.telling;
      changes += result.changes;
      progress?.(at * REQUESTS_PER_CASE + count, leaks);
    }
  } finally {
    await world.stop();
  }
  return { leaks, telling, changes };
}

interface Opened {
  readonly root: Api;
  readonly reader: Api;
  readonly role: string;
  /** Settings of the data service. */
  readonly road: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** @param database how many there were before */
async function open(database: number): Promise<Opened> {
  const road = roadOf(database);
  const { api: root, url, stop } = await startDataService(road);
  const role = await idOf(root, "/svc_role", { name: "reader" });
  await idOf(root, "/svc_user", { ...READER, role });
  return { root, role, road, stop, reader: await signIn(url, READER) };
}

async function idOf(api: Api, path: string, body: Json): Promise<string> {
  return (await accepted(api.post(path, body)))[0].id;
}

async function runCase(
  { root, reader, role, road }: Opened,
  seed: number,
  count: number,
): Promise<NonInterferenceResult> {
  const blueprint = fromSeed(anyBlueprint, seed);
  const built = await build(root, blueprint, freshPrefix());
  const rules = fromSeed(
    drawn((draw) => blueprint.tables.flatMap((table) => rulesFor(draw, built, table))),
    seed,
  );
  const made = await makeRules(root, role, built, rules);
  const drawnRequests = fc.sample(anyRequest(blueprint), { seed, numRuns: count * 5, unbiased: true });
  const asked = await inParallel(drawnRequests, async (request) => ({
    request,
    before: await answerTo(reader, built, request),
  }));
  const best = asked.toSorted((a, b) => weight(b.before) - weight(a.before)).slice(0, count);
  const changes = await changeUnseen(root, blueprint, built, rules, seed);
  const after = await inParallel(best, ({ request }) => answerTo(reader, built, request));
  await Promise.all(made.map((id) => root.delete(`/svc_permission/${id}`)));
  const leaks = best.flatMap(({ request, before }, at) => {
    const is = after[at] ?? "";
    return before === is ? [] : [{ seed, road, request, rules, before, after: is }];
  });
  return { leaks, changes, telling: best.filter(({ before }) => weight(before) === TELLING).length };
}

const TELLING = 2;

/** A request that is refused for a name it may not know, or answered with nothing, tells little. */
function weight(answer: string): number {
  if (!answer.startsWith("[200")) return 0;
  return answer.includes('"data":[]') ? 1 : TELLING;
}

/** Rules that hide little, or nearly every request would be refused for a name, which tells nothing. */
function rulesFor(draw: Draw, { world }: Built, table: Table): TableRule[] {
  const rows = world.rows[table.name] ?? [];
  const names = namesOf(world.tables, table);
  const hidden = draw.chance(60) ? draw.some(names.slice(2), 0, 2) : [];
  return draw.times(draw.chance(5) ? 0 : 1, 2, () => {
    const more = draw.chance(30) ? draw.some(names.slice(2), 0, 1) : [];
    return {
      table: table.name,
      ids: draw.chance(20) ? null : draw.some(rows, 1, rows.length).map(({ id }) => id),
      names: names.filter((name) => !hidden.includes(name) && !more.includes(name)),
    };
  });
}

/** updatedAt tells of changes of every column, so no rule grants it here. */
function namesOf(tables: readonly Table[], table: Table): string[] {
  const inverses = tables.flatMap((other) =>
    other.relations.flatMap(({ table: target, inverse }) =>
      target === table.name && inverse ? [inverse] : [],
    ),
  );
  const own = [...table.columns, ...table.relations].map(({ name }) => name);
  return ["id", "createdAt", ...own, ...inverses];
}

async function makeRules(
  root: Api,
  role: string,
  { nameOf }: Built,
  rules: readonly TableRule[],
): Promise<string[]> {
  const bodies = rules.map(({ table, ids, names }) => ({
    role,
    table: nameOf(table),
    action: "read",
    fields: names.join(","),
    ...(ids === null ? {} : { filter: { id: { _in: [...ids] } } }),
  }));
  if (bodies.length === 0) return [];
  const made = await accepted(root.post("/svc_permission", bodies, { fields: "id" }));
  return made.map(({ id }: { id: string }) => id);
}

async function answerTo(reader: Api, { nameOf, parametersOf }: Built, request: Request): Promise<string> {
  const parameters = parametersOf(request.parameters);
  if (parameters === undefined) return "";
  const { status, body } = await send(reader, request.transport, nameOf(request.table), parameters);
  const { timestamp: _t, correlationId: _c, ...error } = body.error ?? {};
  return JSON.stringify([status, { ...body, error }]);
}

/**
 * Changes what no rule shows: whole records outside of the rules, and in seen records the columns not granted.
 * @returns how many changes were made
 */
async function changeUnseen(
  root: Api,
  blueprint: Blueprint,
  built: Built,
  rules: readonly TableRule[],
  seed: number,
): Promise<number> {
  const changes = fromSeed(
    drawn((draw) =>
      blueprint.tables.flatMap((table) =>
        (built.world.rows[table.name] ?? []).map((row) => changeOf(draw, built, table, row, rules)),
      ),
    ),
    seed,
  );
  // One after the other: a refusal (a value that must be unique, a link that must stay) is as good as a change.
  let made = 0;
  for (const { path, body } of changes) {
    const { status } = body === null ? await root.delete(path) : await root.patch(path, body);
    if (status === 200 && !isEmpty(body)) made += 1;
  }
  return made;
}

function isEmpty(body: Change["body"]): boolean {
  return body !== null && Object.keys(body).length === 0;
}

interface Change {
  readonly path: string;
  /** null = delete. */
  readonly body: Record<string, Json> | null;
}

function changeOf(
  draw: Draw,
  { world, nameOf }: Built,
  table: Table,
  row: Row,
  rules: readonly TableRule[],
): Change {
  const matching = rules.filter(
    ({ table: name, ids }) => name === table.name && (ids === null || ids.includes(row.id)),
  );
  const path = `/${nameOf(table.name)}/${row.id}`;
  const seen = new Set(matching.flatMap(({ names }) => names));
  if (matching.length === 0 && draw.chance(20)) return { path, body: null };
  const columns = table.columns
    .filter(({ name }) => !seen.has(name) && draw.chance(60))
    .map((column): [string, Json] => [column.name, draw.chance(20) ? null : valueOfType(draw, column)]);
  // A link of a seen record can be seen from its other end, so only unseen records change theirs.
  const links = matching.length > 0 ? [] : table.relations.filter(() => draw.chance(50));
  const linked = links.map((relation): [string, Json] => {
    const targets = (world.rows[relation.table] ?? []).map(({ id }) => id);
    if (relation.type === "many-to-many") return [relation.name, draw.some(targets, 0, 3)];
    return [relation.name, targets.length === 0 || draw.chance(30) ? null : draw.pick(targets)];
  });
  return { path, body: Object.fromEntries([...columns, ...linked]) };
}

export function describeLeak({ seed, road, request, rules, before, after }: Leak): string {
  const parts = { seed, road, request, rules, before: JSON.parse(before), after: JSON.parse(after) };
  return JSON.stringify(parts, null, 2);
}
