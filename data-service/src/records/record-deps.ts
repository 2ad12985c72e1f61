// What the record use cases may touch.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import type { CallerShares } from "../caller-shares.js";
import type { RecordStore } from "../mongo/record-store.js";
import type { UnfinishedStore } from "../mongo/unfinished-store.js";
import type { LoadRights } from "../permission/load-rights.js";
import type { Thresholds } from "../query/plan/thresholds.js";
import type { QueryLimits } from "../query/scope.js";
import type { CurrentCatalog } from "../schema/current-catalog.js";
import type { WriteGate } from "../schema/write-gate.js";
import type { BulkSpace, RequireSpace } from "../space-check.js";
import type { UnderWay } from "../under-way.js";
import type { Acting, WritesOf } from "./acting-for.js";
import type { PlanKind } from "./read/plan-kind.js";
import type { SeenQueries } from "./read/seen-queries.js";
import type { HooksOf } from "./table-hooks.js";
import type { Unfinished } from "./whole/unfinished.js";
import type { OnceDeps } from "./write/once.js";
import type { Sealer } from "./write/seal.js";

/** Nothing can be written with these until `actingFor` has said for whom. */
export interface RecordDeps {
  readonly catalogs: CurrentCatalog;
  readonly store: RecordStore;
  /** In which callers ask it what may take long. */
  readonly shares: CallerShares;
  readonly writesOf: WritesOf;
  readonly unfinished: Unfinished;
  readonly deletes: NotedDeletes;
  /** Every write of records passes through it, so that a change of a table can wait for those in progress. */
  readonly gate: WriteGate;
  readonly once: OnceDeps;
  readonly limits: QueryLimits;
  readonly thresholds: Thresholds;
  readonly seenQueries: SeenQueries;
  /** Is told which way the planner chose for each list. */
  readonly notePlan: (kind: PlanKind) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sealer: Sealer;
  /** What writes of users, roles, rules, files and folders mean beyond their columns. */
  readonly hooksOf: HooksOf;
  /** What a caller may do. */
  readonly rights: LoadRights;
  /** For writes that nobody has announced; undefined where the database looks after its disk itself. */
  readonly requireSpace: RequireSpace | undefined;
  /** For single requests that write many records; undefined as well. */
  readonly bulkSpace: BulkSpace | undefined;
}

/** What the use cases may touch that write. */
export type ActingDeps = Acting<RecordDeps>;

/** Deletes under notes (see noted-delete). */
export interface NotedDeletes {
  readonly notes: UnfinishedStore;
  /** Names this process there. */
  readonly instance: string;
  /** Those that this process works on, by their groups. */
  readonly underWay: UnderWay;
}

/** For work on all records, some at a time: the limit of lists is meant for pages. */
export function withoutMaxLimit<Deps extends Pick<RecordDeps, "limits">>(deps: Deps): Deps {
  return { ...deps, limits: { ...deps.limits, maxLimit: undefined } };
}
