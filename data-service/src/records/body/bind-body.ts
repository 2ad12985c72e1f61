// A body -> the ways in which the rules allow it to be written, or everything that is wrong with it.
import { AppError } from "@portico/shared/app-error";
import { isArray, isObject, type Json, type JsonObject } from "@portico/shared/json";
import {
  type Catalog,
  type Column,
  isGenerated,
  memberNamed,
  type Relation,
  type Table,
} from "../../catalog/catalog.js";
import type { WriteGrant } from "../../permission/compile-rules.js";
import type { ReadView } from "../../permission/read-view.js";
import type { Rights } from "../../permission/rights.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import type { Parameters } from "../../query/parameters.js";
import { requireSettled } from "../../schema/write-gate.js";
import { type RecordShape, recordShape } from "../read/read-one.js";
import type { RecordDeps } from "../record-deps.js";
import type { TableHooks } from "../table-hooks.js";
import { authorizeLinks, movedLinks } from "./authorize-links.js";
import { checkBody, makeGuess, notWritable, type WriteMode, type WriteView } from "./check-body.js";
import { type Alternative, lettingWrite } from "./choose-rule.js";
import { nestedIn } from "./nested.js";
import { planWrite, type Stamp, stamped, tablesWritten } from "./write-plan.js";

/** Parameters of a write that is not answered with its record. */
export const PLAIN: Parameters = { filterFromText: false };

/** A write that a caller wants to make. */
export interface WantedWrite {
  readonly rights: Rights;
  readonly catalog: Catalog;
  readonly table: Table;
  readonly mode: WriteMode;
  /** They shape the answer. */
  readonly parameters: Parameters;
  /** The bodies are lines of a file. Root's bring ids and times: see WriteView. */
  readonly isImport?: boolean;
  /** What the service itself writes with each record. */
  readonly stamp?: Stamp | undefined;
  /** See WriteView. */
  readonly tolerated?: JsonObject;
  /** What a rule merely presets counts as what it does not let be written: the body stands for something that no rule sets. */
  readonly asGranted?: boolean;
}

/** What the bodies of a write are judged by. */
export interface BodyContext extends Omit<WantedWrite, "parameters"> {
  readonly hooks: TableHooks;
  readonly shape: RecordShape;
  readonly grants: readonly WriteGrant[];
  /** What each of the grants makes of a body. */
  readonly ways: readonly Way[];
}

/** One way in which bodies may be written, whatever is in them. */
interface Way {
  readonly grant: WriteGrant;
  /** Names of members that the grant sets. */
  readonly preset: ReadonlySet<string>;
  readonly view: WriteView;
}

/** @throws AppError 401, 403 without a right to it, 409 while the table is being changed */
export function openWrite(deps: RecordDeps, { parameters, ...wanted }: WantedWrite): BodyContext {
  const { rights, catalog, table, mode, stamp, asGranted = false } = wanted;
  rights.require(catalog, table, mode);
  requireSettled(catalog, tablesWritten(catalog, table));
  const shape = recordShape(deps, rights.view(catalog), table, parameters);
  const all = rights.write(catalog, table, mode);
  const letting = stamp?.needs === undefined ? all : lettingWrite(all, table, stamp.needs);
  const grants = asGranted ? letting.map((grant) => ({ ...grant, presets: {} })) : letting;
  return {
    ...wanted,
    hooks: deps.hooksOf(table),
    shape,
    grants,
    ways: grants.map((grant) => wayOf(wanted, shape.view, grants, grant)),
  };
}

function wayOf(
  {
    table,
    rights,
    isImport = false,
    stamp,
    tolerated = {},
  }: Pick<WantedWrite, "table" | "rights" | "isImport" | "stamp" | "tolerated">,
  readView: ReadView,
  grants: readonly WriteGrant[],
  grant: WriteGrant,
): Way {
  const preset = new Set(Object.keys(grant.presets));
  const mayWrite = writableBy(grant, preset, table, readView);
  const view = {
    mayWrite,
    guess: makeGuess(table, mayWrite),
    mayRead: (member: Column | Relation) => readView.shows(table, member),
    mayByAnother: (member: Column | Relation) =>
      grants.some((each) => isGranted(each, member, table, readView)),
    isImport,
    movesRecords: isImport && rights.isRoot,
    stamped: Object.keys(stamp?.values ?? {}),
    tolerated,
  };
  return { grant, preset, view };
}

/** Names of relations through which a body links to records that its own request makes: those it brings, or the one around it. */
export type BroughtLinks = ReadonlySet<string>;

const NO_LINKS: BroughtLinks = new Set();

/**
 * The ways in which the rules allow a body, in their order.
 * @throws AppError what is wrong with the body, as far as the most generous rule goes
 */
export function alternativesFor(
  context: BodyContext,
  body: Json,
  broughtLinks: BroughtLinks = NO_LINKS,
): Alternative[] {
  const refusals: Refused[] = [];
  const alternatives = context.ways.flatMap((way) => {
    try {
      requireKept(context, body, way.grant, broughtLinks);
      return [alternativeFor(context, body, way)];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refusals.push({ error, lets: letsAllBe(context.table, body, way) });
      return [];
    }
  });
  const [first] = refusals.toSorted(
    (a, b) => Number(b.lets) - Number(a.lets) || a.error.violations.length - b.error.violations.length,
  );
  if (alternatives.length === 0 && first !== undefined) throw first.error;
  return alternatives;
}

/** Why a rule does not allow a body; and whether it allows every member that the body names, so that only values are wrong. */
interface Refused {
  readonly error: AppError;
  readonly lets: boolean;
}

function letsAllBe(table: Table, body: Json, { view }: Way): boolean {
  return (
    isObject(body) &&
    Object.keys(body).every((name) => {
      const member = memberNamed(table, name);
      return member !== undefined && (isGenerated(member) || view.mayWrite(member));
    })
  );
}

/** The members of a body that no rule with these rows lets be written. @param isFor tells the rules that match a record */
export async function unwritable(
  { table, ways }: BodyContext,
  body: Json,
  isFor: (rows: AuthorizedPredicate) => Promise<boolean>,
): Promise<string[]> {
  const fitting: Way[] = [];
  for (const way of ways) if (await isFor(way.grant.rows)) fitting.push(way);
  if (fitting.length === 0 || !isObject(body)) return [];
  return Object.keys(body).filter((name) => {
    const member = memberNamed(table, name);
    return member !== undefined && !isGenerated(member) && !fitting.some(({ view }) => view.mayWrite(member));
  });
}

/**
 * A rule that sets such a link to anything else would leave a new record behind that nothing links to, or would take the
 * place of one that still stands in the body, and was not made because the caller may not write the link. (Of a table that
 * the caller may not know it replaces whatever the body says: that it is about a record would be told by a refusal.)
 * @throws AppError VALIDATION_ERROR
 */
function requireKept(
  { table, catalog, shape }: Pick<BodyContext, "table" | "catalog" | "shape">,
  body: Json,
  { presets }: WriteGrant,
  broughtLinks: BroughtLinks,
): void {
  if (Object.keys(presets).length === 0) return;
  const given = isObject(body) ? body : {};
  const nested = nestedIn(given, table, catalog).map(({ relation }) => relation);
  const unmade = nested.filter((relation) => shape.view.mayLink(table, relation)).map(({ name }) => name);
  const moved = [...broughtLinks].filter((name) => linkText(presets[name]) !== linkText(given[name]));
  const lost = new Set([...moved, ...unmade].filter((name) => presets[name] !== undefined));
  if (lost.size === 0) return;
  const problem = "a rule sets this link to something else, so nothing would link to the record created here";
  throw new AppError("VALIDATION_ERROR", { message: [...lost].map((name) => `${name}: ${problem}`) });
}

/** The same text for the same link, however it is spelled. */
function linkText(json: Json | undefined): string {
  const idOf = (each: Json | undefined): Json => (isObject(each) ? (each.id ?? null) : (each ?? null));
  return JSON.stringify(isArray(json) ? json.map(idOf) : idOf(json));
}

function alternativeFor(context: BodyContext, body: Json, { grant, preset, view }: Way): Alternative {
  const { hooks, table, catalog, shape, mode, stamp } = context;
  const isWrite = mode === "create" || stamp !== undefined || setsAny(table, body);
  // A copy of a body with very many names costs more than all that is asked of it.
  const filled = preset.size > 0 && isWrite && isObject(body) ? { ...body, ...grant.presets } : body;
  const prepared = hooks.prepare(filled, mode);
  const checked = checkBody(prepared, table, catalog, withMadeUp(view, filled, prepared), mode);
  const seen = authorizeLinks(checked, shape.view, grant);
  const linked = view.movesRecords ? movedLinks(seen, table, shape.view) : seen;
  const plan = stamped(planWrite(linked), table, stamp?.values ?? {}, preset);
  return { rows: grant.rows, check: grant.check, plan: hooks.plan(table, plan, context.rights.isRoot) };
}

/** Does a body name anything that it may set? A change of nothing stays one, whatever a rule presets. */
function setsAny(table: Table, body: Json): boolean {
  const isIgnored = (name: string): boolean => {
    const member = memberNamed(table, name);
    return member !== undefined && isGenerated(member);
  };
  return isObject(body) && !Object.keys(body).every(isIgnored);
}

/** What the service makes up for a body, such as a slug, needs no rule. */
function withMadeUp(view: WriteView, given: Json, prepared: Json): WriteView {
  if (prepared === given || !isObject(given) || !isObject(prepared)) return view;
  const isMadeUp = ({ name }: Column | Relation): boolean =>
    given[name] === undefined && prepared[name] !== undefined;
  return { ...view, mayWrite: (member) => isMadeUp(member) || view.mayWrite(member) };
}

/**
 * What a rule lets a body name; its presets are in the body whether the client names them or not. A relation to a table
 * that the caller may not know is an unknown field, whatever is said of it.
 */
function writableBy(
  grant: WriteGrant,
  preset: ReadonlySet<string>,
  table: Table,
  view: ReadView,
): (member: Column | Relation) => boolean {
  return (member) => preset.has(member.name) || isGranted(grant, member, table, view);
}

function isGranted(
  { members }: WriteGrant,
  member: Column | Relation,
  table: Table,
  view: ReadView,
): boolean {
  return members(member) && (!("link" in member) || view.mayLink(table, member));
}

/** Whether the caller may write a member, of new records or of those that are there. */
export function isWritable(
  rights: Rights,
  catalog: Catalog,
  table: Table,
  member: Column | Relation,
): boolean {
  const view = rights.view(catalog);
  const grants = [...rights.write(catalog, table, "create"), ...rights.write(catalog, table, "update")];
  return grants.some((grant) => isGranted(grant, member, table, view));
}

/**
 * What is wrong with a member that an import names; it is the same for all of its records.
 * @returns undefined for one that may be written
 */
export function importProblems(
  rights: Rights,
  catalog: Catalog,
  table: Table,
): (name: string, given?: string) => string | undefined {
  const readView = rights.view(catalog);
  const grants = rights.write(catalog, table, "create");
  const views = grants.map((grant) => wayOf({ table, rights }, readView, grants, grant).view);
  return (name, given = name) => {
    const member = memberNamed(table, name);
    if (member !== undefined && (isGenerated(member) || views.some(({ mayWrite }) => mayWrite(member))))
      return undefined;
    const [view] = views;
    return view && notWritable(name, table, view, given);
  };
}
