// POST of records: check everything, write all or none, answer with the records as they are now.
import type { Json, JsonObject } from "@portico/shared/json";
import { idText } from "../../catalog/record-ids.js";
import type { Rights } from "../../permission/rights.js";
import { alternativesFor, type BroughtLinks, openWrite } from "../body/bind-body.js";
import { requireObject } from "../body/check-body.js";
import { checkBulk } from "../body/check-bulk.js";
import { type BoundCreates, bindCreates, judgeCreates, singleton } from "../body/judge-creates.js";
import { pathIn } from "../body/violations.js";
import type { Stamp } from "../body/write-plan.js";
import { parseId } from "../find-table.js";
import { asGivenBack, type Written } from "../read/read-one.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import type { TableRequest } from "../request.js";
import type { Versioned } from "../version.js";
import { allOrNone } from "../whole/all-or-none.js";
import { answerOf } from "./answer.js";
import { type NestedWrite, nestedWriteOf } from "./nested-maker.js";
import type { OnceKey } from "./once.js";
import { prepareCreate } from "./run-create.js";
import { checkWithNested, makeWithNested } from "./write-nested.js";
import { writing } from "./writing.js";

export interface Created {
  readonly records: readonly Versioned[];
  /** Ids in the order of the body. */
  readonly ids: readonly string[];
  /** An earlier request with the same Idempotency-Key has made them. */
  readonly isRepeat: boolean;
}

export interface CreateRequest extends TableRequest {
  /** A record, or a list of them. */
  readonly body: Json;
  /** What the service itself writes with each. */
  readonly stamp?: Stamp;
  /** Idempotency-Key. */
  readonly key?: OnceKey | undefined;
}

/** Creates one record, or all records of a list, or none. @returns them in the asked shape */
export async function create(given: RecordDeps, request: CreateRequest): Promise<Created> {
  return writing(given, request, async (deps, rights) => {
    const nested = await nestedWriteOf(deps, rights, request);
    return nested === undefined
      ? createFlat(deps, rights, request)
      : createWithNested(deps, rights, nested, request);
  });
}

/** Creates records that bring no others along. */
async function createFlat(deps: ActingDeps, rights: Rights, request: CreateRequest): Promise<Created> {
  const { body, key } = request;
  const bound = await bindCreates(deps, rights, request);
  const { table, shape } = bound;
  const pathOf = pathIn(body);
  const made = await allOrNone(deps, { key, table, needsNote: !isOneWrite(bound) }, async (noted) => {
    const plans = await judgeCreates(deps, bound, { pathOf });
    return prepareCreate(noted, table, plans, pathOf);
  });
  const { ids, documents, isRepeat } = made;
  await deps.hooksOf(table).afterWrite([]);
  const written: Written | undefined =
    documents && ((fields) => documents.map((document) => asGivenBack(document, fields)));
  const records = await answerOf(deps, shape, ids, { written });
  return { records, ids: ids.map((id) => idText(table, id)), isRepeat };
}

function isOneWrite({ bodies }: BoundCreates): boolean {
  return bodies.length === 1 && bodies.flat().every(({ plan }) => plan.foreign.length === 0);
}

/** Creates records and those that they bring along, all or none. */
async function createWithNested(
  deps: ActingDeps,
  rights: Rights,
  { maker, table }: NestedWrite,
  { body, parameters, key }: CreateRequest,
): Promise<Created> {
  const { catalog } = maker;
  const context = openWrite(deps, { rights, catalog, table, mode: "create", parameters });
  const all = { count: 0 };
  const checkOne = (each: Json): JsonObject => {
    const record = requireObject(each);
    const check = (flat: JsonObject, own: BroughtLinks): void => void alternativesFor(context, flat, own);
    checkWithNested(maker, table, record, check, { all });
    return record;
  };
  const bodies = checkBulk(body, checkOne, { single: singleton(table) });
  const { ids, isRepeat } = await allOrNone(
    deps,
    { key, table, needsNote: true },
    async () => async (log) => {
      const made = await makeWithNested(maker, table, bodies, log, { pathOf: pathIn(body) });
      return { ids: made.map((id) => parseId(table, String(id))), documents: undefined };
    },
  );
  const records = await answerOf(deps, context.shape, ids);
  return { records, ids: ids.map((id) => idText(table, id)), isRepeat };
}
