// Principal -> Rights: fetches the rules, and the caller's record if a rule uses it.
import type { Clock } from "@portico/shared/clock";
import type { JsonObject } from "@portico/shared/json";
import { getOrMake } from "../get-or-make.js";
import { ANONYMOUS, type Principal } from "../principal.js";
import type { ProtectedTables } from "./beyond-rules.js";
import { Rights, type Views } from "./rights.js";
import type { Rule, RuleSet } from "./rule.js";
import { variablesIn } from "./variables.js";

export interface LoadRightsDeps {
  readonly rules: { of(roleId: string | null): Promise<RuleSet> };
  /** The user's record as rules may use it. */
  readonly userRecord: (userId: string) => Promise<JsonObject | null>;
  readonly clock: Clock;
  readonly tables: ProtectedTables;
}

export interface LoadRights {
  /** What a caller may do. */
  (principal: Principal): Promise<Rights>;
  /** What a role may do, whoever has it. @param roleId null = everybody */
  ofRole(roleId: string | null): Promise<Rights>;
}

export function loadRights({ rules, userRecord, ...deps }: LoadRightsDeps): LoadRights {
  const contextOf = (principal: Principal, roleId: string | null) => ({
    principal,
    roleId,
    tables: deps.tables,
    now: deps.clock.now(),
  });
  const factsOf = rememberFacts();
  const load = async (principal: Principal): Promise<Rights> => {
    if (principal.kind === "anonymous") return load.ofRole(null);
    const context = contextOf(principal, principal.roleId);
    if (principal.isRootAdmin)
      return new Rights({ ...context, rules: FOR_ROOT, user: null, views: factsOf(FOR_ROOT).views });
    const mine = await rules.of(principal.roleId);
    const { speaksOfUser, views } = factsOf(mine.rules);
    const user = speaksOfUser ? await userRecord(principal.userId) : null;
    return new Rights({ ...context, ...mine, user, views });
  };
  load.ofRole = async (roleId: string | null): Promise<Rights> => {
    const mine = await rules.of(roleId);
    const { views } = factsOf(mine.rules);
    return new Rights({ ...contextOf(ANONYMOUS, roleId), ...mine, user: null, views });
  };
  return load;
}

/** Root admins need none. */
const FOR_ROOT: readonly Rule[] = [];

/** What every request needs to know about a set of rules. */
interface Facts {
  /** `$user.id` is known without reading anything. */
  readonly speaksOfUser: boolean;
  /** Undefined if a rule has a variable: then every caller, or every moment, may see something else. */
  readonly views: Views | undefined;
}

/** Rules are read every other second but used by every request, so they are looked through only once. */
function rememberFacts(): (rules: readonly Rule[]) => Facts {
  const known = new WeakMap<readonly Rule[], Facts>();
  return (rules) => getOrMake(known, rules, () => factsFrom(rules));
}

function factsFrom(rules: readonly Rule[]): Facts {
  const names = rules.flatMap(({ filter, check, presets }) => [filter, check, presets].flatMap(variablesIn));
  return {
    speaksOfUser: names.some((name) => name.startsWith("$user.") && name !== "$user.id"),
    views: names.length === 0 ? new WeakMap() : undefined,
  };
}
