// Permission rules in `svc_permission`, kept for a moment: a change holds at once here, and everywhere soon after.
import type { Clock } from "@portico/shared/clock";
import { type Collection, type Db, type Filter, ObjectId } from "mongodb";
import { isObject, type Json } from "../json.js";
import type { Followed, RuleText, StoredRule } from "../permission/follow-names.js";
import { ACTIONS, type Action, type Rule } from "../permission/rule.js";
import type { Document } from "../query/lower/document.js";
import { NEXT_VERSION } from "./record-store.js";

interface RuleDocument {
  _id: ObjectId;
  roleId?: ObjectId;
  table: string;
  action: string;
  filter?: Json;
  fields?: string;
  presets?: Json;
  check?: Json;
  isEnabled: boolean;
  updatedAt: Date;
  /** What a change of tables has changed in it, so that undoing the change brings it back. */
  _followed?: { change: string; at: Date; former: RuleText & { isEnabled: boolean } };
}

/** The contract promises 5 s on other instances. */
const FRESH_MS = 2_000;

export interface RuleStore {
  /** Enabled rules of a role and of everyone. @param roleId null = everyone's alone */
  of(roleId: string | null): Promise<readonly Rule[]>;
  /** Enabled rules of all roles and of everyone, as they are in this moment. */
  enabled(): Promise<readonly Rule[]>;
  /** After a change on this instance. */
  forget(): void;
  /**
   * Lets the rules follow a change of tables, once however often it is called. A rule that is edited meanwhile is
   * looked at again.
   */
  follow(change: TableChange, decide: (rule: StoredRule) => Followed): Promise<void>;
}

/** A change of tables by its id, and the one it undoes. */
interface TableChange {
  readonly id: string;
  readonly undoes: string | null;
  readonly at: Date;
}

/** @param noteLoad told when rules are read from the database */
export function makeRuleStore(
  db: Db,
  systemTablePrefix: string,
  clock: Clock,
  noteLoad: () => void = () => {},
): RuleStore {
  const rules: Collection<RuleDocument> = db.collection<RuleDocument>(`${systemTablePrefix}permission`);
  const cache = new Map<string | null, { at: number; rules: Promise<readonly Rule[]> }>();
  const enabled = async (filter: Filter<RuleDocument>): Promise<readonly Rule[]> => {
    const found = rules.find({ ...filter, isEnabled: true }).sort({ _id: 1 });
    return (await found.toArray()).flatMap(toRule);
  };
  const read = async (roleId: string | null): Promise<readonly Rule[]> => {
    noteLoad();
    const everyone = { roleId: { $exists: false } };
    return enabled(
      roleId === null ? everyone : { $or: [everyone, { roleId: ObjectId.createFromHexString(roleId) }] },
    );
  };
  return {
    async of(roleId) {
      const now = clock.now().getTime();
      const known = cache.get(roleId);
      if (known !== undefined && now - known.at < FRESH_MS) return known.rules;
      // Rules that nobody asks for go with all that was made of them.
      for (const [role, { at }] of cache) if (now - at >= FRESH_MS) cache.delete(role);
      const fresh = { at: now, rules: read(roleId) };
      cache.set(roleId, fresh);
      // What could not be read must be asked for again.
      fresh.rules.catch(() => cache.get(roleId) === fresh && cache.delete(roleId));
      return fresh.rules;
    },
    enabled: () => enabled({}),
    forget: () => cache.clear(),
    async follow(change, decide) {
      for await (const document of rules.find()) await followOne(rules, document, change, decide);
      cache.clear();
    },
  };
}

async function followOne(
  rules: Collection<RuleDocument>,
  document: RuleDocument,
  change: TableChange,
  decide: (rule: StoredRule) => Followed,
): Promise<void> {
  const { _id, updatedAt, isEnabled, _followed } = document;
  const wanted = _followed?.change === change.id ? undefined : followed(document, change, decide);
  if (wanted === undefined) return;
  const former = { ...textOf(document), isEnabled };
  const { modifiedCount } = await rules.updateOne({ _id, updatedAt }, [
    {
      $set: {
        ...Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, stored(value)])),
        updatedAt: change.at,
        _followed: { $literal: { change: change.id, at: change.at, former } },
        ...NEXT_VERSION,
      },
    },
  ]);
  const edited = modifiedCount === 0 ? await rules.findOne({ _id }) : null;
  if (edited !== null) await followOne(rules, edited, change, decide);
}

/** In the database a member without a value is not there. */
const stored = (value: Json): Document | string => (value === null ? "$$REMOVE" : { $literal: value });

/** @returns what the rule is to be; undefined: as it is */
function followed(
  document: RuleDocument,
  { undoes }: TableChange,
  decide: (rule: StoredRule) => Followed,
): (Partial<RuleText> & { isEnabled?: boolean }) | undefined {
  const last = document._followed;
  const isUntouched = last !== undefined && last.at.getTime() === document.updatedAt.getTime();
  if (isUntouched && last.change === undoes) return last.former;
  const [rule] = toRule(document);
  if (rule === undefined) return undefined;
  const decision = decide({ ...textOf(document), action: rule.action });
  if (decision.kind === "renamed") return decision.text;
  return decision.kind === "off" && document.isEnabled ? { isEnabled: false } : undefined;
}

function textOf(document: RuleDocument): RuleText {
  const { table, filter = null, fields = null, presets, check = null } = document;
  return { table, filter, fields, check, presets: isObject(presets) ? presets : null };
}

function toRule(document: RuleDocument): Rule[] {
  const action = ACTIONS.find((each): each is Action => each === document.action);
  if (action === undefined) return [];
  const { _id, roleId } = document;
  return [{ id: _id.toHexString(), roleId: roleId?.toHexString() ?? null, action, ...textOf(document) }];
}
