// MongoDB's explain output -> the few facts that tell whether a query reads more than it must.

export interface ExecutionReport {
  /** Indexes used, joins included; empty when every document was read. */
  readonly indexes: readonly string[];
  /** Collections read from end to end. */
  readonly fullScans: number;
  readonly documentsExamined: number;
  readonly keysExamined: number;
  readonly milliseconds: number;
}

/** Finds the facts wherever this server version puts them: the shape of explain is not a stable interface. */
export function reportOf(explain: unknown): ExecutionReport {
  const indexes = new Set<string>();
  const sums = { documentsExamined: 0, keysExamined: 0, fullScans: 0, milliseconds: 0 };
  visit(explain, (key, value) => {
    if (key === "indexName" && typeof value === "string") indexes.add(value);
    if (key === "indexesUsed" && Array.isArray(value)) for (const name of value) indexes.add(String(name));
    if (key === "stage" && value === "COLLSCAN") sums.fullScans += 1;
    if (key === "totalDocsExamined") sums.documentsExamined += Number(value);
    if (key === "totalKeysExamined") sums.keysExamined += Number(value);
    if (key === "executionTimeMillis") sums.milliseconds = Math.max(sums.milliseconds, Number(value));
  });
  return { indexes: [...indexes].sort(), ...sums };
}

/** Plans that were considered and not taken, and plans before they ran, say nothing about this run. */
const ASIDE = ["rejectedPlans", "queryPlanner", "allPlansExecution"];

function visit(value: unknown, see: (key: string, value: unknown) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (ASIDE.includes(key)) continue;
    see(key, inner);
    visit(inner, see);
  }
}
