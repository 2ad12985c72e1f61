// How a deleted record is kept in a table with `softDelete`: in its place, with a mark.
import { OWN_FIELDS } from "./own-fields.js";

/** When it was deleted; absent in living records. Stored value of the column `deletedAt`. */
export const DELETED_FIELD = OWN_FIELDS.deletedAt.name;

/**
 * The act that deleted it, the same in all records that were deleted together. A living record has one while such an act, or
 * its undoing, is under way: whoever finds it after a crash goes on with that act.
 */
export const DELETION_FIELD = OWN_FIELDS.deletion.name;

/** The name of the column that a table with `softDelete` has besides its own. */
export const DELETED_AT = "deletedAt";
