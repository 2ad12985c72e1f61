// Creates the records that bodies bring along, in an order that leaves nothing dangling if the process dies in between:
// first those whose ids stand in a record, then the record, then those that link to it; what many records bring along is
// made together. A refusal takes all back.
import { AppError } from "@portico/shared/app-error";
import { isArray, isObject, type Json, type JsonObject } from "@portico/shared/json";
import { type Catalog, owningRelation, type Relation, type Table, targetOf } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import type { Stored } from "../../catalog/stored.js";
import { piecesOf } from "../../pieces.js";
import { LIMITS } from "../../query/limits.js";
import type { BroughtLinks } from "../body/bind-body.js";
import type { LinkSet } from "../body/link-set.js";
import { type Nested, nestedIn, withIds } from "../body/nested.js";
import { type PathOf, Violations } from "../body/violations.js";
import type { StepLog } from "../whole/steps.js";

/** The most nested records of one body. */
const MOST = 1_000;
/** The most of all bodies of one request: they are checked without a pause, and taken back together. */
const MOST_OF_ALL = 10_000;

/** What there is to say about bodies, by their positions. */
export interface Places {
  /** Where in the request each stands. */
  readonly pathOf: PathOf;
  /** A link in one that a later write sets: the record is judged with it and made without it. */
  readonly laterOf?: (at: number) => Relation | undefined;
  /** Links in one to records that the same request makes. */
  readonly broughtLinksOf?: (at: number) => BroughtLinks;
}

/** The records that a request changes. */
export interface Changed {
  readonly table: Table;
  /** Asked of each record of the table whose own links a new record would set. */
  has(id: Stored): boolean;
}

/** What bodies with nested records are checked by. */
export interface NestedChecker {
  readonly catalog: Catalog;
  /** How deep records may be nested. */
  readonly maxDepth: number;
  /** Whether the caller may write a relation. One that they may not write is unknown, whatever stands inside it. */
  mayBring(table: Table, relation: Relation): boolean;
  /**
   * Whether refusals may name the relation by which a new record of the table links to the one around it: the client has
   * not sent its name. @throws AppError 401, 403 where the caller may create nothing there
   */
  mayNameBackLink(table: Table, relation: Relation): boolean;
  /**
   * Refuses bodies with nested records taken out of them, before anything is written.
   * @returns the sets of links that lie in other records, which a new record takes with it
   * @throws AppError
   */
  check(table: Table, body: JsonObject, broughtLinks: BroughtLinks): readonly LinkSet[];
}

/** What records with nested ones are made with; ids are JSON. */
export interface NestedMaker extends NestedChecker {
  /** Creates records, up to `LIMITS.bulk`, all or none, and notes how to take them back. @returns their ids in JSON */
  make(table: Table, bodies: readonly JsonObject[], log: StepLog, places: Places): Promise<readonly Json[]>;
}

/** True when some record brings others along. */
export function bringsRecords(bodies: readonly Json[], table: Table, catalog: Catalog): boolean {
  return bodies.some((body) => nestedIn(body, table, catalog).length > 0);
}

/**
 * Checks a body and all records inside it, through all levels, before anything is written.
 * @param checkOwn checks the body itself, with stand-ins for what it brings along
 * @param of.all counts what is inside all bodies of a request, right or not
 * @param of.changed the records that the body changes
 * @param of.taken gets the sets of links of the records inside
 * @throws AppError VALIDATION_ERROR with every violation; 401, 403 for a table where the caller may create nothing
 */
export function checkWithNested(
  checker: NestedChecker,
  table: Table,
  body: JsonObject,
  checkOwn: (body: JsonObject, broughtLinks: BroughtLinks) => void,
  {
    all = { count: 0 },
    changed,
    taken = [],
  }: {
    readonly all?: { count: number };
    readonly changed?: Changed | undefined;
    readonly taken?: LinkSet[];
  } = {},
): void {
  const violations = new Violations();
  let count = 0;
  const visit = (
    of: Table,
    body: JsonObject,
    { prefix, depth }: { readonly prefix: string; readonly depth: number },
    check: (body: JsonObject, broughtLinks: BroughtLinks) => void,
  ): void => {
    const nested = knownIn(body, of, checker);
    violations.collect(prefix, () => check(withStandIns(body, nested), namesOf(nested)));
    for (const each of nested) {
      const path = prefix + each.path;
      count += 1;
      all.count += 1;
      if (all.count > MOST_OF_ALL) throw tooManyInAll();
      if (depth > checker.maxDepth || count > MOST) throw tooMuch(path, checker.maxDepth);
      if (violations.collect(`${path}: `, () => requireKnownBackLink(checker, each)) === undefined) continue;
      const inside = { prefix: `${path}.`, depth: depth + 1 };
      // The record around it has no id yet: a stand-in.
      visit(each.target, each.body, inside, (flat, brought) => {
        taken.push(...checker.check(each.target, linked(flat, each, someId(of)), brought));
        if (changed !== undefined) requireApart(flat, each.target, checker.catalog, changed);
      });
    }
  };
  visit(table, body, { prefix: "", depth: 1 }, checkOwn);
  violations.refuseAny();
}

function namesOf(nested: readonly Nested[]): Set<string> {
  return new Set(nested.map(({ relation }) => relation.name));
}

function tooMuch(path: string, maxDepth: number): AppError {
  const limits = `records may be nested at most ${maxDepth} levels deep, with at most ${MOST} nested records per record`;
  return new AppError("VALIDATION_ERROR", { message: [`${path}: ${limits}`] });
}

function tooManyInAll(): AppError {
  return new AppError(
    "BAD_REQUEST",
    `body: at most ${MOST_OF_ALL} nested records per request; send fewer at once`,
  );
}

function knownIn(body: JsonObject, table: Table, checker: NestedChecker): readonly Nested[] {
  return nestedIn(body, table, checker.catalog).filter(({ relation }) => checker.mayBring(table, relation));
}

/** A body with made-up ids in the place of its nested records; for those that come later it only names the relation. */
function withStandIns(body: JsonObject, nested: readonly Nested[]): JsonObject {
  const ids = nested.filter(comesFirst).map(({ path, target }): [string, Json] => [path, someId(target)]);
  const later = nested.filter((each) => !comesFirst(each));
  const names = later.map(({ relation }): [string, Json] => [relation.name, relation.many ? [] : null]);
  return { ...Object.fromEntries(names), ...withIds(body, nested, new Map(ids)) };
}

function someId({ idColumn: { type } }: Table): Json {
  if (type === "int") return 1;
  return type === "uuid" ? "00000000-0000-7000-8000-000000000000" : "0".repeat(24);
}

/** The record around it holds its id, so that it must be made first. */
function comesFirst({ relation }: Nested): boolean {
  return relation.link.on === "self";
}

/** The relation by which a nested record links to the one around it. @returns undefined where it is the other way round */
function backLinkOf(nested: Nested): Relation | undefined {
  if (comesFirst(nested)) return undefined;
  const owning = owningRelation(nested);
  if (owning === undefined) throw new Error(`nothing stores "${nested.relation.name}"`);
  return owning;
}

/**
 * A link that the caller may neither write nor know is not set for them, and whatever else stands in the record, the
 * refusal is the same.
 * @throws AppError VALIDATION_ERROR
 */
function requireKnownBackLink(checker: NestedChecker, nested: Nested): true {
  const owning = backLinkOf(nested);
  if (owning === undefined || checker.mayNameBackLink(nested.target, owning)) return true;
  throw new AppError("VALIDATION_ERROR", { message: ["you may not create records here"] });
}

/**
 * A new record is made before the change that brings it along: if it set links that lie in the changed record, that would no
 * longer be as its caller knows it, nor as the rules are to judge it.
 * @throws AppError VALIDATION_ERROR
 */
function requireApart(body: JsonObject, table: Table, catalog: Catalog, changed: Changed): void {
  const { parse } = COLUMN_TYPES[changed.table.idColumn.type];
  const isChanged = (link: Json): boolean => {
    const id = parse(isObject(link) ? (link.id ?? null) : link, []);
    return id !== undefined && changed.has(id);
  };
  const message = [...table.relations.values()].flatMap((relation) => {
    const { name, link } = relation;
    if (link.on === "self" || targetOf(catalog, relation).id !== changed.table.id) return [];
    const given = body[name] ?? [];
    if (!(isArray(given) ? given : [given]).some(isChanged)) return [];
    return [
      `${name}: holds the record that is changed here; leave it out, and set its links in its own body`,
    ];
  });
  if (message.length > 0) throw new AppError("VALIDATION_ERROR", { message });
}

/** The body of a record that links to the one around it. @throws AppError when it names that link itself */
function linked(body: JsonObject, nested: Nested, id: Json): JsonObject {
  const owning = backLinkOf(nested);
  if (owning === undefined) return body;
  if (body[owning.name] !== undefined) {
    const message = [`${owning.name}: is set by the record around it; leave it out`];
    throw new AppError("VALIDATION_ERROR", { message });
  }
  return { ...body, [owning.name]: owning.many ? [id] : id };
}

/** A nested record with its place. */
interface Placed extends Nested {
  /** What violations in it begin with. */
  readonly prefix: string;
  /** See Places. */
  readonly later?: Relation | undefined;
  /** Its own link to the record around it, where it has one. */
  readonly backLink?: readonly [name: string] | undefined;
}

/** A nested record that links to the one around it. @param id of that one */
function linkedBack<Each extends Placed>(each: Each, id: Json): Each {
  const owning = backLinkOf(each);
  return { ...each, body: linked(each.body, each, id), backLink: owning && [owning.name] };
}

function placed(nested: readonly Nested[], prefix: string): Placed[] {
  return nested.map((each) => ({ ...each, prefix: `${prefix}${each.path}.` }));
}

/**
 * Creates records with all that they bring along, level by level.
 * @returns their ids, in the order of the bodies
 */
export async function makeWithNested(
  maker: NestedMaker,
  table: Table,
  bodies: readonly JsonObject[],
  log: StepLog,
  places: Places,
): Promise<readonly Json[]> {
  const records = bodies.map((body, at) => {
    return { body, nested: placed(knownIn(body, table, maker), places.pathOf(at)) };
  });
  const first = records.flatMap(({ nested }) => nested.filter(comesFirst));
  const made = await makeNested(maker, first, log);
  const prepared = records.map(({ body, nested }) => withIds(body, nested, idsByPath(nested, made)));
  const broughtLinksOf = (at: number): BroughtLinks =>
    new Set([...namesOf(records[at]?.nested ?? []), ...(places.broughtLinksOf?.(at) ?? [])]);
  const ids = await maker.make(table, prepared, log, { ...places, broughtLinksOf });
  const after = records.flatMap(({ nested }, at) => {
    const around = ids[at] ?? null;
    const later = nested.filter((each) => !comesFirst(each));
    return later.map((each) => linkedBack(each, around));
  });
  await makeNested(maker, after, log);
  return ids;
}

/** Creates nested records, those of one table together, with all that they bring along. @returns their ids */
async function makeNested(
  maker: NestedMaker,
  all: readonly Placed[],
  log: StepLog,
): Promise<ReadonlyMap<Nested, Json>> {
  const ids = new Map<Nested, Json>();
  for (const target of new Set(all.map((each) => each.target))) {
    const ofTarget = all.filter((each) => each.target === target);
    for (const some of piecesOf(ofTarget, LIMITS.bulk)) {
      const bodies = some.map(({ body }) => body);
      const made = await makeWithNested(maker, target, bodies, log, {
        pathOf: (index) => some[index]?.prefix ?? "",
        laterOf: (index) => some[index]?.later,
        broughtLinksOf: (index) => new Set(some[index]?.backLink ?? []),
      });
      for (const [index, each] of some.entries()) ids.set(each, made[index] ?? null);
    }
  }
  return ids;
}

function idsByPath(nested: readonly Nested[], ids: ReadonlyMap<Nested, Json>): ReadonlyMap<string, Json> {
  return new Map(
    nested.flatMap((each): [string, Json][] => {
      const id = ids.get(each);
      return id === undefined ? [] : [[each.path, id]];
    }),
  );
}

/**
 * Creates what a change of a record brings along.
 * @returns the change with ids in their places, and the relations that have them
 * @param id of the record that is changed
 */
export async function makeForChange(
  maker: NestedMaker,
  table: Table,
  body: JsonObject,
  id: Json,
  log: StepLog,
): Promise<{ readonly change: JsonObject; readonly broughtLinks: BroughtLinks }> {
  const nested = placed(knownIn(body, table, maker), "");
  // A one-to-one link can only be set once the former one is let go of, which the change itself does; a required one never
  // is.
  const laterOf = (each: Nested): Relation | undefined => {
    const owning = backLinkOf(each);
    return each.relation.exclusive && owning?.required !== true ? owning : undefined;
  };
  const linkedTo = nested.map((each) => ({ ...linkedBack(each, id), later: laterOf(each) }));
  const made = await makeNested(maker, linkedTo, log);
  return { change: withIds(body, nested, idsByPath(linkedTo, made)), broughtLinks: namesOf(nested) };
}
