// The links that a body sets, at each stage of a write: checked, authorized, judged. Types only; no stage takes the links
// of an earlier one, so that none can be left out.
import type { Relation, Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import type { Document } from "../../query/lower/document.js";

/** Links a body sets through one relation: the whole new set. */
export interface LinkSet {
  readonly relation: Relation;
  readonly target: Table;
  /** Without repeats. Empty = none. */
  readonly ids: readonly Stored[];
  /** What is there at all, whoever asks: the write itself may change what its caller sees. */
  readonly there: AuthorizedPredicate;
}

/**
 * What the caller may see or change is in it: only authorize-links makes what has this brand. It is there for the type
 * checker alone, like `Authorized` in query/ast: no literal has a protected member, and a spread loses it.
 */
declare class Permitted {
  protected readonly permitted: true;
}

export type { Permitted };

/** Links with what the caller may see at the other end. */
export interface AuthorizedLinks extends LinkSet, Permitted {
  /** Only these records can be linked to: what the caller may not see is not there. */
  readonly visible: AuthorizedPredicate;
  /** Id of the rule that sets it, whatever the body says. */
  readonly presetBy?: string;
}

/** Links with the records of another table in which the caller may change them. */
export interface JudgedLinks extends AuthorizedLinks {
  /** As the rules saw them; "all" where every record may be changed, whatever becomes of it meanwhile. */
  readonly judged: JudgedRecords | "all";
}

/** Records whose links change. */
export interface JudgedRecords {
  readonly coming: readonly Judged[];
  readonly leaving: readonly Judged[];
}

/** Records that were alike in all that rules ask of them. */
export interface Judged {
  readonly ids: readonly Stored[];
  /** Holds while they are as they were. */
  readonly condition: Document;
}
