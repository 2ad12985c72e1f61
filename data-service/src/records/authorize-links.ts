// Links of a checked body -> the same, with what the caller may see at their other end. Pure.
import type { ReadView } from "../permission/read-view.js";
import type { CheckedBody } from "./check-body.js";

/**
 * A record that may not be seen is an unknown record: else the answer would tell which ids exist there.
 * @param preset names of relations that a rule sets, whatever the caller may see
 */
export function authorizeLinks(body: CheckedBody, view: ReadView, preset: ReadonlySet<string>): CheckedBody {
  const links = body.links.map((set) =>
    preset.has(set.relation.name) ? { ...set, isPreset: true } : { ...set, visible: view.rows(set.target) },
  );
  return { ...body, links };
}
