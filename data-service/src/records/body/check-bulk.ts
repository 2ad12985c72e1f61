// A single body, or a list of bodies: how many there may be, and one refusal for all that is wrong in any of them.
import { AppError } from "@portico/shared/app-error";
import { isArray, type Json } from "@portico/shared/json";
import type { Table } from "../../catalog/catalog.js";
import { LIMITS } from "../../query/limits.js";
import { asWhole, inList, type PathOf, Violations } from "./violations.js";

/**
 * Checks a single body, or each of a list; there a violation begins with the place of its body in the request.
 * @param most how many violations of a list are told
 * @param pathOf of bodies that others bring along
 * @param single the table, where it holds a single record: all of a longer list would be refused for one another
 */
export function checkBulk<Checked>(
  body: Json,
  check: (body: Json, at: number) => Checked,
  {
    pathOf,
    most,
    single,
  }: {
    readonly pathOf?: PathOf | undefined;
    readonly most?: number | undefined;
    readonly single?: Table | undefined;
  } = {},
): Checked[] {
  if (!isArray(body)) return [check(body, 0)];
  if (single !== undefined && body.length !== 1) {
    const problem =
      pathOf === undefined
        ? `body: must be one record, as "${single.name}" holds a single one`
        : `${asWhole(pathOf(1))}"${single.name}" holds a single record, and another one is to be made here already`;
    throw new AppError("VALIDATION_ERROR", { message: [problem] });
  }
  if (body.length === 0 || body.length > LIMITS.bulk) {
    throw new AppError("VALIDATION_ERROR", { message: [`body: must have 1 to ${LIMITS.bulk} records`] });
  }
  const violations = new Violations(most);
  const placeOf = pathOf ?? inList;
  const checked = body.flatMap((each, at) => violations.collect(placeOf(at), () => [check(each, at)]) ?? []);
  violations.refuseAny();
  return checked;
}
