// Which rules a schema file is about to switch off by its tables, and leaves out: a document of `_markers`. One who is killed in
// between would leave them as if somebody had switched them off.
import type { Db } from "mongodb";

export interface GoingRules {
  /** Ids of rules. Those that no change has switched off are of no account. */
  load(): Promise<ReadonlySet<string>>;
  /** Adds some, before the tables are changed. */
  note(ids: readonly string[]): Promise<void>;
  /** Once a file is applied. */
  forget(ids: readonly string[]): Promise<void>;
}

interface GoingDocument {
  readonly _id: "going_rules";
  readonly ids: readonly string[];
}

const WHICH = { _id: "going_rules" } as const;

export function makeGoingRules(db: Db): GoingRules {
  const markers = db.collection<GoingDocument>("_markers");
  return {
    load: async () => new Set((await markers.findOne(WHICH))?.ids),
    async note(ids) {
      await markers.updateOne(WHICH, { $addToSet: { ids: { $each: [...ids] } } }, { upsert: true });
    },
    async forget(ids) {
      if (ids.length > 0) await markers.updateOne(WHICH, { $pull: { ids: { $in: [...ids] } } });
    },
  };
}
