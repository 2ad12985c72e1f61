// Permission rules in `svc_permission`, kept for a moment: a change holds at once here, and everywhere soon after.
import type { Clock } from "@portico/shared/clock";
import { type Collection, type Db, ObjectId } from "mongodb";
import { isObject, type Json } from "../json.js";
import { ACTIONS, type Action, type Rule } from "../permission/rule.js";

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
}

/** The contract promises 5 s on other instances. */
const FRESH_MS = 2_000;
/** More roles than anybody has; beyond it the cache starts anew. */
const MOST_ROLES = 1_000;

export interface RuleStore {
  /** Enabled rules of a role and of everyone. @param roleId null = everyone's alone */
  of(roleId: string | null): Promise<readonly Rule[]>;
  /** After a change on this instance. */
  forget(): void;
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
  const read = async (roleId: string | null): Promise<readonly Rule[]> => {
    noteLoad();
    const everyone = { roleId: { $exists: false } };
    const mine =
      roleId === null ? everyone : { $or: [everyone, { roleId: ObjectId.createFromHexString(roleId) }] };
    return (
      await rules
        .find({ ...mine, isEnabled: true })
        .sort({ _id: 1 })
        .toArray()
    ).flatMap(toRule);
  };
  return {
    async of(roleId) {
      const now = clock.now().getTime();
      const known = cache.get(roleId);
      if (known !== undefined && now - known.at < FRESH_MS) return known.rules;
      if (cache.size >= MOST_ROLES) cache.clear();
      const fresh = { at: now, rules: read(roleId) };
      cache.set(roleId, fresh);
      // What could not be read must be asked for again.
      fresh.rules.catch(() => cache.get(roleId) === fresh && cache.delete(roleId));
      return fresh.rules;
    },
    forget: () => cache.clear(),
  };
}

function toRule(document: RuleDocument): Rule[] {
  const action = ACTIONS.find((each): each is Action => each === document.action);
  if (action === undefined) return [];
  const { _id, roleId, table, filter = null, fields = null, presets = null, check = null } = document;
  return [
    {
      ...{
        id: _id.toHexString(),
        roleId: roleId?.toHexString() ?? null,
        table,
        action,
        filter,
        fields,
        check,
      },
      presets: presets !== null && isObject(presets) ? presets : null,
    },
  ];
}
