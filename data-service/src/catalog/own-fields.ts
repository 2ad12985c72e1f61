// The fields that the service itself writes beside the members of a record, or reads there. No member lies in one of them:
// it could be shown and set by clients then. (What is kept beside a rule lies in `svc_permission` alone, which nobody adopts.) Others
// may begin with an underscore too, in documents of other programs.

/** One field, or all that begin alike. */
export type OwnField = { readonly name: string } | { readonly prefix: string };

export const OWN_FIELDS = {
  id: { name: "_id" },
  /** What a query joins or counts while it runs. */
  joined: { prefix: "__" },
  /** The parts of a searchable text. */
  grams: { prefix: "_g_" },
  /** A number of children, and how often that was changed. */
  counter: { prefix: "_n_" },
  counterVersion: { prefix: "_v_" },
  /** The mark of the only record of a singleton. */
  singleton: { name: "_only" },
  /** The number for If-Match. */
  version: { name: "_record_version" },
  /** How many changes were no request's for this record. */
  moves: { name: "_record_moves" },
  /** The name of the last change that may be taken back. */
  noted: { name: "_record_noted" },
  /** The name of the request that set a link. */
  moved: { prefix: "_moved_" },
  /** The deletes that are about to take the record. */
  leaving: { name: "_leaving_for" },
  /** Its last change in the journal. */
  change: { name: "_change" },
  /** Whose turn it is to change the record. */
  turn: { name: "_turn" },
  /** What a value was converted from, and the default that a change is writing. */
  was: { prefix: "_was_" },
  filled: { prefix: "_filled_" },
  /** When it was deleted, and by which act. */
  deletedAt: { name: "_deletedAt" },
  deletion: { name: "_deletion" },
  /** Of a file: its content, and since when it has that. */
  contentKey: { name: "_contentKey" },
  contentAt: { name: "_contentAt" },
} as const satisfies Readonly<Record<string, OwnField>>;

/** How often a record was changed; not there before the first time. */
export const VERSION_FIELD = OWN_FIELDS.version.name;
/**
 * How many of those changes no request for the record has made: links that were moved from their other side or let go, and
 * its deletion where it is kept. Not there before the first.
 */
export const MOVES_FIELD = OWN_FIELDS.moves.name;
/** Says whose turn it is to change the record. */
export const TURN_FIELD = OWN_FIELDS.turn.name;
/** The key of a file's content, and since when the file has it. */
export const CONTENT_KEY = OWN_FIELDS.contentKey.name;
export const CONTENT_AT = OWN_FIELDS.contentAt.name;

export function isOwnField(field: string): boolean {
  return Object.values<OwnField>(OWN_FIELDS).some((own) =>
    "name" in own ? field === own.name : field.startsWith(own.prefix),
  );
}
