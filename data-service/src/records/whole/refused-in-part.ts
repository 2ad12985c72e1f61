// The refusal of a request that has made records which stay, because others need them by now.
import { AppError, isClientError } from "@portico/shared/app-error";
import type { Stored } from "../../catalog/stored.js";

/** Records of one table. */
export interface StayingRecords {
  /** Its id. */
  readonly table: string;
  readonly ids: readonly Stored[];
}

/** `records/write/tell-taken` says which of the records the caller may hear of. */
export class RefusedInPart extends AppError {
  readonly refusal: AppError;
  readonly staying: readonly StayingRecords[];

  constructor(refusal: AppError, staying: readonly StayingRecords[]) {
    const { code, messages, details, headers } = refusal;
    super(code, { message: messages, headers, ...(details && { details }), cause: refusal });
    this.refusal = refusal;
    this.staying = staying;
  }
}

/** The refusal with what stays. After any other error nobody knows that yet. */
export function refusedWith(error: unknown, staying: readonly StayingRecords[]): unknown {
  return staying.length > 0 && isClientError(error) ? new RefusedInPart(error, staying) : error;
}
