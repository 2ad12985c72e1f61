// One record in the shape that `fields` and `deep` ask for: GET /{table}/{id}, and the answer of every write.
import type { Json } from "@portico/shared/json";
import { deserialize, serialize } from "bson";
import type { Share } from "../../caller-shares.js";
import type { Table } from "../../catalog/catalog.js";
import { VERSION_FIELD } from "../../catalog/own-fields.js";
import { idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import type { ReadLimits } from "../../mongo/read-limits.js";
import type { ReadView } from "../../permission/read-view.js";
import type { AuthorizedNode, AuthorizedPredicate } from "../../query/ast.js";
import { authorizeNode, rowRules, withParts } from "../../query/authorize-read.js";
import { bindRecordShape } from "../../query/bind-query.js";
import { idsFilter } from "../../query/lower/by-ids.js";
import type { Document, Stage, StoredRecord } from "../../query/lower/document.js";
import { readsTogether } from "../../query/lower/joined-or-together.js";
import { lowerRecord, ownFields } from "../../query/lower/read.js";
import type { Parameters } from "../../query/parameters.js";
import { useCountersIn } from "../../query/plan/use-counters.js";
import { shaper } from "../../query/shape.js";
import { heldSizes } from "../../query/unfolded.js";
import { decideAs } from "../decide-as.js";
import { findTable, parseId, recordNotFound } from "../find-table.js";
import type { RecordDeps } from "../record-deps.js";
import type { RecordRequest, Standing } from "../request.js";
import { mayKnowVersion, type Versioned, versionOf } from "../version.js";
import { type AskedRows, askedRows } from "./asked-rows.js";
import { Effort } from "./effort.js";
import { withRelated } from "./related.js";
import { Remembered } from "./remembered.js";
import { NoRoom, Room } from "./room.js";
import { requireRoom } from "./unfold.js";

/** The checked shape that one record is asked for in. */
export interface RecordShape {
  readonly node: AuthorizedNode;
  readonly view: ReadView;
  /** Of the caller's own record: it shows them its `updatedAt`, and so its version, whatever their rules say of others. */
  readonly isOwn?: boolean;
}

const known = new Remembered<RecordShape>();

/** Answers `GET /{table}/{id}`. @throws AppError 404 */
export async function readOne(deps: RecordDeps, request: RecordRequest): Promise<Versioned> {
  const { deleted } = request.parameters;
  const allow = ({ rights, catalog }: Standing, table: Table): Allowed => {
    rights.require(catalog, table, "read");
    return { view: rights.view(catalog), rows: askedRows(deleted, rights, catalog, table) };
  };
  return readAllowed(deps, allow, request);
}

/** By which rights. */
interface Allowed {
  readonly view: ReadView;
  readonly rows?: AskedRows;
  readonly isOwn?: boolean;
}

/** Reads the caller's own record. @param viewOf the view to read it through, in which it shows its `updatedAt` */
export async function readOwn(
  deps: RecordDeps,
  viewOf: (standing: Standing) => ReadView,
  wanted: RecordRequest,
): Promise<Versioned> {
  const allowed = (standing: Standing): Allowed => ({ view: viewOf(standing), isOwn: true });
  return readAllowed(deps, allowed, wanted);
}

async function readAllowed(
  deps: RecordDeps,
  allow: (standing: Standing, table: Table) => Allowed,
  { principal, table: tableName, id: givenId, parameters }: RecordRequest,
): Promise<Versioned> {
  const { shape, id, table } = await decideAs(deps, principal, (standing) => {
    const found = findTable(standing.catalog, tableName, standing.rights);
    const { view, rows, isOwn = false } = allow(standing, found);
    const shape = { ...recordShape(deps, view, found, parameters, rows?.(view)), isOwn };
    return { table: found, id: parseId(found, givenId), shape };
  });
  const [record] = await readEach(deps, shape, [id], deps.shares.of(principal));
  if (record === undefined) throw recordNotFound(table);
  return record;
}

/**
 * Checks `fields` and `deep`, before anything is written.
 * @param rows the row rule, where it is not that of the view
 * @throws AppError 400
 */
export function recordShape(
  { limits }: Pick<RecordDeps, "limits">,
  view: ReadView,
  table: Table,
  parameters: Parameters,
  rows?: AuthorizedPredicate,
): RecordShape {
  const bind = (): RecordShape => {
    const node = authorizeNode(bindRecordShape(parameters, table, view, limits), view, rows);
    return { node: useCountersIn(node, rowRules(view)), view };
  };
  return rows === undefined ? known.of(view, [table.name, parameters, limits], bind) : bind();
}

/** Reads records by id, in the order of the ids; those the caller may not see are missing. */
export async function readShaped(
  deps: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
): Promise<Json[]> {
  return (await readEach(deps, shape, ids)).flatMap((record) => (record === undefined ? [] : [record.json]));
}

/**
 * Like `readShaped`, with undefined in the place of each that the caller may not see.
 * @param share of the caller; without it, as after a write, they are read whatever else the caller asks
 */
export async function readEach(
  deps: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
  share?: Share,
): Promise<(Versioned | undefined)[]> {
  return eachOf(deps, shape, ids, await documentsOf(deps, shape, ids, share));
}

/** Like `readEach`, for records with at most so many bytes, with all they show. @throws NoRoom when they have more */
export async function readSmall(
  deps: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
  mostBytes: number,
): Promise<(Versioned | undefined)[]> {
  return eachOf(deps, shape, ids, await smallDocumentsOf(deps, shape, ids, mostBytes));
}

function eachOf(
  deps: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
  documents: readonly StoredRecord[],
): (Versioned | undefined)[] {
  const { node } = shape;
  const byId = new Map(documents.map((document) => [idText(node.table, document._id), document]));
  const toVersioned = versioned(deps, shape);
  return ids.map((id) => {
    const document = byId.get(idText(node.table, id));
    return document === undefined ? undefined : toVersioned(document);
  });
}

async function documentsOf(
  { store }: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
  share: Share | undefined,
): Promise<readonly StoredRecord[]> {
  const { node, rules, fields, pipeline } = questionFor(shape, ids);
  const effort = new Effort(store.timeoutMs, undefined, share);
  const documents =
    fields === undefined
      ? await effort.ask((limits) =>
          joinedDocuments(store, node, pipeline(), { most: ids.length, ...limits }),
        )
      : await store.byIds(node.table, ids, fields);
  const whole = await withRelated({ store }, node, documents, { rules, effort });
  requireRoom(node, whole);
  return whole;
}

/**
 * Documents that hold what is joined to them. One has at most 16 MB; but many may link to the same few large records.
 * @throws NoRoom when they are too much together
 */
async function joinedDocuments(
  store: RecordDeps["store"],
  node: AuthorizedNode,
  pipeline: Stage[],
  { most, ...limits }: ReadLimits & { readonly most: number },
): Promise<readonly StoredRecord[]> {
  if (most === 1) return store.read(node.table, pipeline, limits);
  const small = await store.readSmall(node.table, pipeline, most, limits);
  if (small !== undefined) return small;
  const [documents, room]: [StoredRecord[], Room] = [[], new Room(most)];
  for await (const some of store.stream(node.table, pipeline, limits.signal)) {
    for (const size of heldSizes(node, some)) room.take(size);
    documents.push(...some);
  }
  return documents;
}

async function smallDocumentsOf(
  { store }: RecordDeps,
  shape: RecordShape,
  ids: readonly Stored[],
  mostBytes: number,
): Promise<readonly StoredRecord[]> {
  const { node, rules, fields, pipeline } = questionFor(shape, ids);
  const documents =
    fields === undefined
      ? await store.readSmall(node.table, pipeline(), ids.length)
      : await store.smallByIds(node.table, ids, fields);
  if (documents === undefined) throw new NoRoom();
  const makeRoom = (): Room => new Room(ids.length, undefined, mostBytes);
  const whole = await withRelated({ store }, node, documents, { rules, room: makeRoom() });
  const room = makeRoom();
  for (const size of heldSizes(node, whole)) room.take(size);
  return whole;
}

/** What the database is asked for: fields of these documents, if that is enough, or a pipeline. */
function questionFor(shape: RecordShape, ids: readonly Stored[]) {
  const node = withParts(shape.node, { limit: ids.length });
  const rules = rowRules(shape.view);
  const alongside = [VERSION_FIELD];
  const fields = ownFields(node, { alongside, together: readsTogether(node) });
  const pipeline = (): Stage[] => lowerRecord(node, idsFilter(ids), rules, alongside);
  return { node, rules, fields, pipeline };
}

/** The fields that a write has to return of a record, so that it need not be read again; undefined where they don't suffice. */
export function shownFields({ node }: RecordShape): Document | undefined {
  return ownFields(node, { alongside: [VERSION_FIELD] });
}

/**
 * Records made of documents that this process has just written, without reading them.
 * @returns undefined where the asked shape needs more than these documents
 */
export function shownAsWritten(
  deps: Pick<RecordDeps, "sealer">,
  shape: RecordShape,
  documents: Written,
): Versioned[] | undefined {
  const fields = shownFields(shape);
  return fields === undefined ? undefined : documents(Object.keys(fields)).map(versioned(deps, shape));
}

/** The written documents, with these fields at least. */
export type Written = (fields: readonly string[]) => readonly StoredRecord[];

/** Fields of a document as the database would give them back: a Double is a number again. */
export function asGivenBack(document: StoredRecord, fields: readonly string[]): StoredRecord {
  const shown = fields.filter((field) => document[field] !== undefined);
  return deserialize(serialize(Object.fromEntries(shown.map((field) => [field, document[field]]))));
}

function versioned(
  { sealer }: Pick<RecordDeps, "sealer">,
  { node, view, isOwn = false }: RecordShape,
): (document: StoredRecord) => Versioned {
  const isTold = isOwn || mayKnowVersion(view, node.table);
  const toJson = shaper(node, sealer.unseal);
  return (document) => ({ json: toJson(document), version: isTold ? versionOf(document) : undefined });
}
