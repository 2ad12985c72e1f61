// The fields that the service itself writes beside the members of a record, or reads there. No member lies in one of them:
// it could be shown and set by clients then. Others may begin with an underscore too, in documents of other programs.

/** One field, or all that begin alike. */
export type OwnField = ({ readonly name: string } | { readonly prefix: string }) & {
  readonly holds: string;
  /** The module that writes it. */
  readonly writtenBy: string;
};

export const OWN_FIELDS = {
  id: { name: "_id", holds: "the id", writtenBy: "records/ids" },
  joined: { prefix: "__", holds: "what a query joins or counts while it runs", writtenBy: "query/lower" },
  grams: { prefix: "_g_", holds: "the parts of a searchable text", writtenBy: "catalog/grams" },
  counter: { prefix: "_n_", holds: "a number of children", writtenBy: "mongo/count-store" },
  counterVersion: { prefix: "_v_", holds: "how often that was changed", writtenBy: "mongo/count-store" },
  singleton: { name: "_only", holds: "the mark of the only record", writtenBy: "catalog/indexes" },
  version: { name: "_record_version", holds: "the number for If-Match", writtenBy: "mongo/record-store" },
  moves: {
    name: "_record_moves",
    holds: "how many changes were no request's for this record",
    writtenBy: "mongo/record-store",
  },
  noted: {
    name: "_record_noted",
    holds: "the name of the last change that may be taken back",
    writtenBy: "records/whole/former-fields",
  },
  moved: {
    prefix: "_moved_",
    holds: "the name of the request that set a link",
    writtenBy: "records/derived/counted-writes",
  },
  leaving: {
    name: "_leaving_for",
    holds: "the deletes that are about to take the record",
    writtenBy: "records/delete/leaving",
  },
  change: { name: "_change", holds: "its last change in the journal", writtenBy: "journal/entry" },
  turn: { name: "_turn", holds: "whose turn it is to change the record", writtenBy: "mongo/lock" },
  was: { prefix: "_was_", holds: "what a value was converted from", writtenBy: "catalog/fills" },
  filled: { prefix: "_filled_", holds: "the default that a change is writing", writtenBy: "catalog/fills" },
  deletedAt: { name: "_deletedAt", holds: "when it was deleted", writtenBy: "records/delete/kept" },
  deletion: { name: "_deletion", holds: "the act that deleted it", writtenBy: "records/delete/kept" },
  contentKey: { name: "_contentKey", holds: "the content of a file", writtenBy: "mongo/content-ledger" },
  contentAt: { name: "_contentAt", holds: "since when it has that", writtenBy: "mongo/content-ledger" },
} as const satisfies Readonly<Record<string, OwnField>>;

export function isOwnField(field: string): boolean {
  return Object.values<OwnField>(OWN_FIELDS).some((own) =>
    "name" in own ? field === own.name : field.startsWith(own.prefix),
  );
}
