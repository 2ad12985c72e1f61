// Audit entries in `{SYSTEM_TABLE_PREFIX}audit`: appended here, read through the query language.
import { type Db, type Document, ObjectId } from "mongodb";
import type { AuditDeps, AuditEntry } from "../auth/audit.js";
import { systemTableNames } from "../catalog/system-tables.js";
import { ON_PRIMARY } from "./on-primary.js";

const RETENTION_MS = 90 * 24 * 60 * 60 * 1000;

export type AuditStore = AuditDeps["entries"] & {
  /** Removes what is older than 90 days. */
  sweep(now: Date): Promise<void>;
};

export function makeAuditStore(db: Db, systemTablePrefix: string): AuditStore {
  const entries = db.collection(systemTableNames(systemTablePrefix).audit);
  return {
    async append(all) {
      // Sign-ins wait for their entry.
      if (all.length > 0) await entries.insertMany(all.map(toDocument), ON_PRIMARY);
    },
    async sweep(now) {
      await entries.deleteMany({ createdAt: { $lt: new Date(now.getTime() - RETENTION_MS) } });
    },
  };
}

function toDocument({ event, userId, details, at, client }: AuditEntry): Document {
  const { address, origin, userAgent, correlationId } = client;
  const facts = {
    event,
    address,
    origin,
    userAgent,
    correlationId,
    userId: userId === undefined ? undefined : ObjectId.createFromHexString(userId),
    details,
  };
  // Null is never stored: unknown facts are left out.
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined);
  return { ...Object.fromEntries(known), createdAt: at, updatedAt: at };
}
