// What a request is about: who asks, for which table, for which of its records, in which shape.
import type { Catalog } from "../catalog/catalog.js";
import type { LastingCaller } from "../lasting-caller.js";
import type { Rights } from "../permission/rights.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";

/** Who asks, and the table that the path names. */
export interface TableCall {
  readonly principal: Principal;
  /** Asked again before a write that had to wait, and while a long answer is given: it may have left, or may do less by then. */
  readonly caller?: Pick<LastingCaller, "now" | "dueAt">;
  readonly table: string;
}

/** Who asks, and the record that the path names. */
export interface RecordCall extends TableCall {
  readonly id: string;
}

export interface TableRequest extends TableCall {
  readonly parameters: Parameters;
}

export interface RecordRequest extends RecordCall {
  readonly parameters: Parameters;
}

/** By what a request, or a step of it, is judged: what its caller may do, and the tables of the moment. */
export interface Standing {
  readonly rights: Rights;
  readonly catalog: Catalog;
}
