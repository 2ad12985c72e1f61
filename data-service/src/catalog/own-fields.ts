// The fields that the service itself writes or reads beside a record's members. No member is stored in one of them, for
// clients could then read and set it. (What is kept beside a rule is in `svc_permission` alone, which nobody adopts.) In
// documents of other programs other fields may begin with an underscore, too.

/** One field, or all with the same beginning. */
export type OwnField = { readonly name: string } | { readonly prefix: string };

export const OWN_FIELDS = {
  id: { name: "_id" },
  /** What a query joins or counts while it runs. */
  joined: { prefix: "__" },
  /** The parts of a searchable text. */
  grams: { prefix: "_g_" },
  /** A number of children, and how often it was changed. */
  counter: { prefix: "_n_" },
  counterVersion: { prefix: "_v_" },
  /** Marks the only record of a singleton. */
  singleton: { name: "_only" },
  /** The number for If-Match. */
  version: { name: "_record_version" },
  /** How many changes no request for this record has made. */
  moves: { name: "_record_moves" },
  /** The name of the last change that may have to be taken back. */
  noted: { name: "_record_noted" },
  /** The name of the request that set a link. */
  moved: { prefix: "_moved_" },
  /** The deletes that are about to take the record. */
  leaving: { name: "_leaving_for" },
  /** The record's last change in the journal. */
  change: { name: "_change" },
  /** Whose turn it is to change the record. */
  turn: { name: "_turn" },
  /** What a value was converted from, and the default that a change is writing. */
  was: { prefix: "_was_" },
  filled: { prefix: "_filled_" },
  /** When it was deleted, and by which act. */
  deletedAt: { name: "_deletedAt" },
  deletion: { name: "_deletion" },
  /** For a file: its content, and since when it has that. */
  contentKey: { name: "_contentKey" },
  contentAt: { name: "_contentAt" },
} as const satisfies Readonly<Record<string, OwnField>>;

/** How often a record was changed; absent before the first time. One that was imported with its id begins at the time of that. */
export const VERSION_FIELD = OWN_FIELDS.version.name;
/**
 * How many of those changes no request for the record has made: links that were moved from their other side or released, and
 * its deletion where it is kept. Absent before the first.
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
