// Links of a checked body -> the same, with what the caller may see at their other ends. Pure. Alone in that, and in
// saying which records the rules let such links change.
import type { Column, Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import type { WriteGrant } from "../../permission/compile-rules.js";
import type { ReadView } from "../../permission/read-view.js";
import { ALWAYS } from "../../query/ast.js";
import type { CheckedBody } from "./check-body.js";
import type { AuthorizedLinks, JudgedLinks, Permitted } from "./link-set.js";

/** A body that can be planned. */
export interface AuthorizedBody {
  readonly values: ReadonlyMap<Column, Stored | null>;
  readonly links: readonly AuthorizedLinks[];
}

/**
 * A record that may not be seen is an unknown record: else the answer would tell which ids exist there.
 * @param grant what its rule sets is linked to, whatever the caller may see
 */
export function authorizeLinks(
  { values, links }: CheckedBody,
  view: ReadView,
  { ruleId, presets }: Pick<WriteGrant, "ruleId" | "presets">,
): AuthorizedBody {
  const authorized = links.map((set) =>
    Object.hasOwn(presets, set.relation.name)
      ? brand({ ...set, visible: set.there, presetBy: ruleId })
      : brand({ ...set, visible: view.rows(set.target) }),
  );
  return { values, links: authorized };
}

/**
 * The links of a record that root moves here from elsewhere: what it links to may be deleted, as it was there. Only what a
 * living record can't do without has to live.
 */
export function movedLinks(body: AuthorizedBody, { deletedAt }: Table, view: ReadView): AuthorizedBody {
  const isDeleted = deletedAt !== undefined && (body.values.get(deletedAt) ?? null) !== null;
  const links = body.links.map((set) => {
    const { link, required } = set.relation;
    const isNeeded = required && !isDeleted;
    if (isNeeded || link.on !== "self") return set;
    return brand({ ...set, visible: view.rows(set.target, "all"), there: ALWAYS });
  });
  return { ...body, links };
}

/** Links with the records that they may change: judge-foreign asks the rules. */
export function withJudged(set: AuthorizedLinks, judged: JudgedLinks["judged"]): JudgedLinks {
  return brand({ ...set, judged });
}

/** The brand exists only for the type checker; this is the one place that may grant it. */
function brand<T extends object>(links: T): T & Permitted {
  return links as T & Permitted;
}
