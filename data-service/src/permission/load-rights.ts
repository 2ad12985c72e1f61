// Principal -> Rights: fetches the rules, and the caller's record where a rule speaks of it.
import type { Clock } from "@portico/shared/clock";
import type { JsonObject } from "../json.js";
import type { Principal } from "../principal.js";
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

export type LoadRights = (principal: Principal) => Promise<Rights>;

export function loadRights({ rules, userRecord, ...deps }: LoadRightsDeps): LoadRights {
  return async (principal) => {
    const context = { principal, tables: deps.tables, maxDepth: deps.maxDepth, now: deps.clock.now() };
    if (principal.kind === "user" && principal.isRootAdmin)
      return new Rights({ ...context, rules: [], user: null });
    const mine = await rules.of(principal.kind === "user" ? principal.roleId : null);
    const speaks = principal.kind === "user" && mine.some(speaksOfUser);
    return new Rights({ ...context, rules: mine, user: speaks ? await userRecord(principal.userId) : null });
  };
}

/** `$user.id` is known without a look. */
function speaksOfUser({ filter, check, presets }: Rule): boolean {
  const names = [filter, check, presets].flatMap((each) => variablesIn(each));
  return names.some((name) => name.startsWith("$user.") && name !== "$user.id");
}
