// Permission rules in `svc_permission`, cached for a moment: a change takes effect at once here, and everywhere soon after.
// They come with the names that they use, so that none is applied to a name for which it was not written.
import { unavailable } from "@portico/shared/app-error";
import { type Clock, steadyTime } from "@portico/shared/clock";
import { isObject, type Json } from "@portico/shared/json";
import { type Collection, type Db, type Filter, ObjectId } from "mongodb";
import { same } from "../catalog/canonical.js";
import type { Catalog, LatestChange } from "../catalog/catalog.js";
import { systemTableNames } from "../catalog/system-tables.js";
import { ownTable, type RuleText, type StoredRule } from "../permission/follow-names.js";
import type { Loss, RuleState } from "../permission/follow-rule.js";
import type { Meant } from "../permission/meant.js";
import {
  ACTIONS,
  type Action,
  type DescribedRule,
  type Rule,
  type RuleSet,
  type RuleTable,
  type Withheld,
} from "../permission/rule.js";
import { NOTHING_WITHHELD } from "../permission/withheld.js";
import type { Document } from "../query/lower/document.js";
import { NEXT_VERSION } from "./update-parts.js";

interface RuleDocument {
  _id: ObjectId;
  roleId?: ObjectId;
  table: string;
  action: string;
  filter?: Json;
  fields?: string;
  presets?: Json;
  check?: Json;
  description?: string;
  isEnabled: boolean;
  createdAt: Date;
  updatedAt: Date;
  /** What changes of tables have done to it, so that undoing them restores it; of no account once somebody has written it. */
  _followed?: FollowedNote;
  /** Stays, whatever is written to the rule. */
  _withheld?: Withheld;
}

interface FollowedNote {
  /** The last change that it followed. */
  change: string;
  at: Date;
  losses?: Loss[];
  meant?: Meant;
  /** Earlier versions noted no losses, only the rule as it was before the last change. */
  former?: { isEnabled: boolean };
  meaning?: string;
}

/** The contract promises 5 s on other instances. */
const FRESH_MS = 2_000;
/** How long rules that nobody asks for are held, so that they stay the same object for whoever asks now and then. */
const HELD_MS = 60_000;

export interface RuleStore {
  /**
   * Enabled rules of a role and of everybody, and what is known of those that are off.
   * @param roleId null = only everybody's
   * @throws AppError 503 when tables keep being changed
   */
  of(roleId: string | null): Promise<RuleSet>;
  /** Enabled rules of all roles and of everybody, as they are at this moment. */
  enabled(): Promise<readonly Rule[]>;
  /** The same with their descriptions. */
  described(): Promise<readonly DescribedRule[]>;
  /** Those of all roles and of everybody that are off, but for those of tables that are gone. */
  switchedOff(): Promise<readonly DescribedRule[]>;
  /** Ids of rules that changes of tables have switched off, and that nobody has written since. */
  offByChanges(): Promise<ReadonlySet<string>>;
  /** After a change on this instance. */
  forget(): void;
  /**
   * Lets the rules follow a change of tables that is in use, only once however often it is called. A rule that is edited
   * meanwhile is looked at again.
   * @param ask throws to leave the rest: called before each is written and after it was read, so that none is written that
   * others have gone on with
   */
  follow(change: string, ask: () => Promise<void>): Promise<void>;
}

/** A change of tables by its id, and what becomes of a rule with it. */
export interface RuleChange {
  readonly id: string;
  readonly decide: (rule: StoredRule & Pick<RuleState, "isEnabled" | "losses">) => RuleState;
}

export interface RuleStoreDeps {
  readonly clock: Clock;
  readonly catalogs: { get(): Promise<Catalog>; refresh(): Promise<Catalog> };
  /** A change that is in use and that the rules may not follow yet. */
  readonly changeOf: (id: string) => Promise<RuleChange | undefined>;
  /** Called when rules are read from the database. */
  readonly noteLoad?: () => void;
}

/** How often rules are read again because tables were changed meanwhile. */
const ATTEMPTS = 10;

interface Kept {
  readonly at: number;
  /** The names at the time they were asked for. */
  readonly change: LatestChange | undefined;
  readonly rules: Promise<RuleSet>;
}

export function makeRuleStore(db: Db, systemTablePrefix: string, deps: RuleStoreDeps): RuleStore {
  const { clock, catalogs, changeOf, noteLoad = () => {} } = deps;
  const rules: Collection<RuleDocument> = db.collection<RuleDocument>(
    systemTableNames(systemTablePrefix).permissions,
  );
  const time = steadyTime(clock);
  const cache = new Map<string | null, Kept>();
  const sorted = (filter: Filter<RuleDocument>): Promise<RuleDocument[]> =>
    // In the order in which they are tried: a role's own come before everyone's, which have no role. Ids of different
    // processes are in no order within a second.
    rules.find(filter).sort({ roleId: -1, createdAt: 1, _id: 1 }).toArray();
  const off = (): Promise<RuleDocument[]> => sorted({ isEnabled: { $ne: true } });
  const ofRole = (roleId: string | null): Promise<RuleDocument[]> => {
    const everyone = { roleId: { $exists: false } };
    const whose =
      roleId === null ? everyone : { $or: [everyone, { roleId: ObjectId.createFromHexString(roleId) }] };
    return sorted({ $and: [whose, { $or: [{ isEnabled: true }, { action: "read" }] }] });
  };
  const read = async (roleId: string | null): Promise<RuleSet> => {
    noteLoad();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const { change } = await catalogs.get();
      const pending = change?.isFollowed === false ? await changeOf(change.id) : undefined;
      const found = (await ofRole(roleId)).flatMap((each) => asOf(each, pending));
      // Only by the names of the same moment: rules written for others are read again.
      if (isSame((await catalogs.refresh()).change, change)) return ruleSet(found, change);
    }
    throw unavailable("Tables are being changed; try again shortly.", 1);
  };
  return {
    async of(roleId) {
      const now = time();
      const { change } = await catalogs.get();
      const known = cache.get(roleId);
      if (known !== undefined && now - known.at < FRESH_MS && isSame(known.change, change))
        return known.rules;
      // Rules that are no longer used are dropped with everything derived from them.
      for (const [role, { at }] of cache) if (now - at >= HELD_MS) cache.delete(role);
      const fresh: Kept = { at: now, change, rules: read(roleId).then((rules) => unchanged(known, rules)) };
      cache.set(roleId, fresh);
      // Rules that could not be read must be asked for again.
      fresh.rules.catch(() => cache.get(roleId) === fresh && cache.delete(roleId));
      return fresh.rules;
    },
    enabled: async () => (await sorted({ isEnabled: true })).flatMap(toRule),
    described: async () => (await sorted({ isEnabled: true })).flatMap(toDescribedRule),
    async switchedOff() {
      const catalog = await catalogs.refresh();
      const isThere = (each: RuleDocument): boolean => ownTable(ruleTable(each), catalog) !== undefined;
      return (await off()).filter(isThere).flatMap(toDescribedRule);
    },
    async offByChanges() {
      const isByChange = (document: RuleDocument): boolean =>
        untouchedNote(document)?.losses?.some(({ wasEnabled }) => wasEnabled) === true;
      return new Set((await off()).filter(isByChange).map(({ _id }) => _id.toHexString()));
    },
    forget: () => cache.clear(),
    async follow(id, ask) {
      const change = await changeOf(id);
      if (change === undefined) return;
      const at = clock.now();
      for await (const document of rules.find()) await followOne(rules, document, { ...change, at, ask });
      cache.clear();
    },
  };
}

/** The rules as they were known before, if they are still the same: much is derived from them, and kept beside them. */
async function unchanged(known: Kept | undefined, now: RuleSet): Promise<RuleSet> {
  const before = await known?.rules.catch(() => undefined);
  return before !== undefined && same(allOf(before), allOf(now)) ? before : now;
}

const allOf = ({ rules, readRulesOff, change }: RuleSet): readonly unknown[] => [rules, readRulesOff, change];

function isSame(one: LatestChange | undefined, other: LatestChange | undefined): boolean {
  return one?.id === other?.id && one?.isFollowed === other?.isFollowed;
}

interface SwitchedRule {
  readonly rule: Rule;
  readonly meant: Meant | undefined;
  readonly isEnabled: boolean;
}

function ruleSet(found: readonly SwitchedRule[], change: LatestChange | undefined): RuleSet {
  const off = found.filter(({ rule, isEnabled }) => !isEnabled && rule.action === "read");
  return {
    rules: found.flatMap(({ rule, isEnabled }) => (isEnabled ? [rule] : [])),
    readRulesOff: off.map(({ rule: { table }, meant }) => ({ table, meant })),
    change: change?.id,
  };
}

/** A rule as it will be once it follows a change. */
function asOf(document: RuleDocument, change: RuleChange | undefined): SwitchedRule[] {
  const wanted = change === undefined ? undefined : toFollow(document, change);
  const { isEnabled, meant } = wanted ?? { ...document, ...ruleTable(document) };
  return toRule(document).map((rule) => ({ rule: { ...rule, ...wanted?.text }, isEnabled, meant }));
}

/** @returns what the change makes of the rule; undefined if it stays as it is, or follows already */
function toFollow(document: RuleDocument, change: RuleChange): RuleState | undefined {
  return document._followed?.change === change.id ? undefined : followed(document, change);
}

async function followOne(
  rules: Collection<RuleDocument>,
  document: RuleDocument,
  change: RuleChange & { readonly at: Date; readonly ask: () => Promise<void> },
): Promise<void> {
  const { _id, updatedAt } = document;
  const wanted = toFollow(document, change);
  if (wanted === undefined) return;
  const { losses, meant } = wanted;
  const note: FollowedNote = { change: change.id, at: change.at, losses: [...losses] };
  await change.ask();
  const { modifiedCount } = await rules.updateOne({ _id, updatedAt }, [
    {
      $set: {
        ...Object.fromEntries(Object.entries(wanted.text).map(([name, value]) => [name, stored(value)])),
        isEnabled: wanted.isEnabled,
        _withheld: isNothing(wanted.withheld) ? "$$REMOVE" : { $literal: wanted.withheld },
        updatedAt: change.at,
        _followed: { $literal: meant === undefined ? note : { ...note, meant } },
        ...NEXT_VERSION,
      },
    },
  ]);
  const edited = modifiedCount === 0 ? await rules.findOne({ _id }) : null;
  if (edited !== null) await followOne(rules, edited, change);
}

/** In the database a member without a value is absent. */
const stored = (value: Json): Document | string => (value === null ? "$$REMOVE" : { $literal: value });

/** @returns what becomes of the rule; undefined if it stays as it is */
function followed(document: RuleDocument, { decide }: RuleChange): RuleState | undefined {
  const [rule] = toRule(document);
  if (rule === undefined) return undefined;
  const { meant, losses = [] } = untouchedNote(document) ?? {};
  const withheld = document._withheld ?? NOTHING_WITHHELD;
  const now = { text: textIn(document), isEnabled: document.isEnabled, withheld, meant, losses };
  const wanted = decide({ ...now.text, action: rule.action, ...now });
  return same(wanted, now) ? undefined : wanted;
}

/** What changes have done to the rule, if nothing else has touched it since. */
function untouchedNote({ _followed: last, updatedAt }: RuleDocument): FollowedNote | undefined {
  if (last === undefined || last.at.getTime() !== updatedAt.getTime()) return undefined;
  const { change, at, former, meaning } = last;
  if (former === undefined) return last;
  const loss = { change, at, wasEnabled: former.isEnabled };
  return { change, at, losses: [meaning === undefined ? loss : { ...loss, meaning }] };
}

function isNothing({ fields, presets }: Withheld): boolean {
  return fields.length === 0 && Object.keys(presets).length === 0;
}

function ruleTable(document: RuleDocument): RuleTable {
  return { table: document.table, meant: untouchedNote(document)?.meant };
}

function textIn(document: RuleDocument): RuleText {
  const { table, filter = null, fields = null, presets, check = null } = document;
  return { table, filter, fields, check, presets: isObject(presets) ? presets : null };
}

function toRule(document: RuleDocument): Rule[] {
  const action = ACTIONS.find((each): each is Action => each === document.action);
  if (action === undefined) return [];
  const { _id, roleId } = document;
  return [{ id: _id.toHexString(), roleId: roleId?.toHexString() ?? null, action, ...textIn(document) }];
}

function toDescribedRule(document: RuleDocument): DescribedRule[] {
  const { description = null, createdAt } = document;
  return toRule(document).map((rule) => ({ ...rule, description, createdAt }));
}
