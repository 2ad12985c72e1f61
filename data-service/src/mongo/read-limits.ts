// How long a read may take, and what ends it before.

/** The limits of one read. */
export interface ReadLimits {
  /** No longer than QUERY_TIMEOUT_MS. */
  readonly maxTimeMS: number;
  /** Aborts it. */
  readonly signal: AbortSignal;
}
