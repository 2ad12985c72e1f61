// Principal -> Rights: fetches the rules, and the caller's record where a rule speaks of it.
import type { Clock } from "@portico/shared/clock";
import type { JsonObject } from "../json.js";
import { ANONYMOUS, type Principal } from "../principal.js";
import { type ProtectedTables, Rights } from "./rights.js";
import type { Rule } from "./rule.js";
import { variablesIn } from "./variables.js";

export interface LoadRightsDeps {
  readonly rules: { of(roleId: string | null): Promise<readonly Rule[]> };
  /** The user's record as rules may speak of it. */
  readonly userRecord: (userId: string) => Promise<JsonObject | null>;
  readonly clock: Clock;
  readonly tables: ProtectedTables;
  readonly maxDepth: number;
}

export interface LoadRights {
  /** What a caller may do. */
  (principal: Principal): Promise<Rights>;
  /** What a role may do, whoever has it. @param roleId null = everyone */
  ofRole(roleId: string | null): Promise<Rights>;
}

export function loadRights({ rules, userRecord, ...deps }: LoadRightsDeps): LoadRights {
  const contextOf = (principal: Principal, roleId: string | null) => ({
    ...{ principal, roleId, tables: deps.tables, maxDepth: deps.maxDepth, now: deps.clock.now() },
  });
  const load = async (principal: Principal): Promise<Rights> => {
    if (principal.kind === "anonymous") return load.ofRole(null);
    const context = contextOf(principal, principal.roleId);
    if (principal.isRootAdmin) return new Rights({ ...context, rules: [], user: null });
    const mine = await rules.of(principal.roleId);
    const user = mine.some(speaksOfUser) ? await userRecord(principal.userId) : null;
    return new Rights({ ...context, rules: mine, user });
  };
  load.ofRole = async (roleId: string | null): Promise<Rights> =>
    new Rights({ ...contextOf(ANONYMOUS, roleId), rules: await rules.of(roleId), user: null });
  return load;
}

/** `$user.id` is known without a look. */
function speaksOfUser({ filter, check, presets }: Rule): boolean {
  const names = [filter, check, presets].flatMap((each) => variablesIn(each));
  return names.some((name) => name.startsWith("$user.") && name !== "$user.id");
}
