// MongoDB's explain output -> the few facts that tell whether a query reads more than it must.

/** What was read. */
export interface Examined {
  readonly documentsExamined: number;
  readonly keysExamined: number;
}

export interface ExecutionReport extends Examined {
  /** Indexes used, joins included; empty when every document was read. */
  readonly indexes: readonly string[];
  /** How often a collection was read from end to end, joins included. */
  readonly fullScans: number;
  readonly milliseconds: number;
  /** The part of the joins, by the field that they fill; nested joins included. */
  readonly joins: ReadonlyMap<string, Examined>;
}

/** For an answer that needed no query. */
export const NOTHING_READ: ExecutionReport = {
  indexes: [],
  fullScans: 0,
  documentsExamined: 0,
  keysExamined: 0,
  milliseconds: 0,
  joins: new Map(),
};

/** Finds the facts wherever this server version puts them: the shape of explain is not a stable interface. */
export function reportOf(explain: unknown): ExecutionReport {
  const indexes = new Set<string>();
  const joins = new Map<string, Examined>();
  const sums = { documentsExamined: 0, keysExamined: 0, fullScans: 0, milliseconds: 0 };
  visit(explain, (key, value, around) => {
    if (key === "$lookup" && "totalDocsExamined" in around)
      joins.set(String(fieldOf(value)), examinedIn(around));
    if (key === "indexName" && typeof value === "string") indexes.add(value);
    if (key === "indexesUsed" && Array.isArray(value)) for (const name of value) indexes.add(String(name));
    if (key === "stage" && value === "COLLSCAN") sums.fullScans += 1;
    if (key === "collectionScans") sums.fullScans += Number(value);
    if (key === "totalDocsExamined") sums.documentsExamined += Number(value);
    if (key === "totalKeysExamined") sums.keysExamined += Number(value);
    if (key === "executionTimeMillis") sums.milliseconds = Math.max(sums.milliseconds, Number(value));
  });
  return { indexes: [...indexes].sort(), ...sums, joins };
}

function fieldOf(lookup: unknown): unknown {
  return typeof lookup === "object" && lookup !== null && "as" in lookup ? lookup.as : undefined;
}

function examinedIn(stage: Readonly<Record<string, unknown>>): Examined {
  return {
    documentsExamined: Number(stage.totalDocsExamined ?? 0),
    keysExamined: Number(stage.totalKeysExamined ?? 0),
  };
}

/** Plans that were considered but not chosen, and plans from before the run, say nothing about this run. */
const ASIDE = ["rejectedPlans", "queryPlanner", "allPlansExecution"];

/** What is found on the way through an explain, with the object that contains it. */
type See = (key: string, value: unknown, around: Readonly<Record<string, unknown>>) => void;

function visit(value: unknown, see: See): void {
  if (typeof value !== "object" || value === null) return;
  const around: Readonly<Record<string, unknown>> = { ...value };
  for (const [key, inner] of Object.entries(around)) {
    if (ASIDE.includes(key)) continue;
    see(key, inner, around);
    visit(inner, see);
  }
}
