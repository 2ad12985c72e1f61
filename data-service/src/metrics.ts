// What the data service counts, besides requests and the process itself (shared/metrics). Every label comes from a list.
import { AppError } from "@portico/shared/app-error";
import { Counter, countBy, Gauge, makeRegistry, type Registry } from "@portico/shared/metrics";
import { AUDIT_EVENTS, type AuditLog } from "./auth/audit.js";
import type { Throttle } from "./auth/throttle.js";
import type { ShareNotes } from "./caller-shares.js";
import { PLAN_KINDS, type PlanKind } from "./records/read/plan-kind.js";

const CACHES = ["catalog", "rules", "sessions", "api_tokens"] as const;

export type CacheName = (typeof CACHES)[number];

const LIMITS = ["sign_in", "refresh", "oauth_starts", "requests"] as const;

type Limit = (typeof LIMITS)[number];

/** Lookups without a load were answered by the cache. */
export interface CacheNotes {
  readonly lookup: () => void;
  readonly load: () => void;
}

export interface Metrics {
  readonly registry: Registry;
  cache(name: CacheName): CacheNotes;
  notePlan(kind: PlanKind): void;
  readonly shares: ShareNotes;
  /** The same audit, counted by event: sign-ins, failures, reuse of refresh tokens … */
  audited(audit: AuditLog): AuditLog;
  /** The same throttle, its refusals counted. */
  throttled(throttle: Throttle): Throttle;
  /** @param count called at most once a minute, when somebody looks */
  liveSessions(count: () => Promise<number>): void;
}

export function makeMetrics(): Metrics {
  const registry = makeRegistry();
  const count = <Value extends string>(name: string, help: string, label: string, values: readonly Value[]) =>
    countBy(registry, { name: `portico_${name}`, help, label, values });
  const noteLookup = count("cache_lookups_total", "Questions to a cache.", "cache", CACHES);
  const noteLoad = count("cache_loads_total", "Of these, answered by the database.", "cache", CACHES);
  const notePlan = count("query_plans_total", "Lists by the way the planner chose.", "plan", PLAN_KINDS);
  const noteEvent = count(
    "account_events_total",
    "What the audit log records, by event.",
    "event",
    AUDIT_EVENTS,
  );
  const noteRefusal = count("throttled_total", "Refusals by a limit (429).", "limit", LIMITS);
  return {
    registry,
    cache: (cache) => ({ lookup: () => noteLookup(cache), load: () => noteLoad(cache) }),
    notePlan,
    shares: noteShares(registry),
    audited: (audit) => ({
      record(event, client) {
        noteEvent(event.event);
        return audit.record(event, client);
      },
      recordAll(all, client) {
        for (const { event } of all) noteEvent(event);
        return audit.recordAll(all, client);
      },
    }),
    throttled: (throttle) => countRefusals(throttle, noteRefusal),
    liveSessions: (count) => showSessions(registry, count),
  };
}

function noteShares(registry: Registry): ShareNotes {
  const registers = [registry];
  const waiting = new Gauge({
    name: "portico_queries_waiting",
    help: "Queries that wait for others of the same caller.",
    registers,
  });
  const refused = new Counter({
    name: "portico_queries_refused_total",
    help: "Queries refused because others of the same caller took too long.",
    registers,
  });
  return { waiting: (change) => waiting.inc(change), refused: () => refused.inc() };
}

function countRefusals(throttle: Throttle, note: (limit: Limit) => void): Throttle {
  const noting = async <Result>(limit: Limit, admitted: Promise<Result>): Promise<Result> => {
    try {
      return await admitted;
    } catch (error) {
      if (error instanceof AppError && error.code === "TOO_MANY_REQUESTS") note(limit);
      throw error;
    }
  };
  return {
    admitSignIn: (email, address) => noting("sign_in", throttle.admitSignIn(email, address)),
    admitRefresh: (sessionId) => noting("refresh", throttle.admitRefresh(sessionId)),
    admitOAuthStart: (address, perMinute) =>
      noting("oauth_starts", throttle.admitOAuthStart(address, perMinute)),
    admitRequest: (address, perMinute) => noting("requests", throttle.admitRequest(address, perMinute)),
  };
}

const SESSIONS_EVERY_MS = 60_000;
/** A database that is away must not keep the other metrics waiting. */
const SESSIONS_WAIT_MS = 1_000;

/** Counting reads an index key for each session, so not every scrape counts again. */
function showSessions(registry: Registry, count: () => Promise<number>): void {
  let countedAt = Number.NEGATIVE_INFINITY;
  new Gauge({
    name: "portico_live_sessions",
    help: "Sessions that have not expired, in the whole system; a minute old at most, NaN while not known.",
    registers: [registry],
    async collect() {
      if (performance.now() - countedAt < SESSIONS_EVERY_MS) return;
      const live = await Promise.race([count().catch(() => Number.NaN), unknownAfter(SESSIONS_WAIT_MS)]);
      if (!Number.isNaN(live)) countedAt = performance.now();
      this.set(live);
    },
  });
}

function unknownAfter(milliseconds: number): Promise<number> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, Number.NaN).unref());
}
