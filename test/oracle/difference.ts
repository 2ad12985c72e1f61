// One request against the service and the oracle, and what differs.
import type { Api } from "../support/api.js";
import type { Blueprint, Request } from "./blueprint.js";
import type { Built } from "./build.js";
import { isSame } from "./compare.js";
import { evaluate, type ListAnswer } from "./evaluate.js";
import { type JsonObject, Refused, tableOf } from "./model.js";
import { send } from "./send.js";

export interface Difference {
  readonly status: number;
  readonly parameters: JsonObject;
  readonly expected: ListAnswer;
  readonly actual: JsonObject;
}

/** What came of asking both. */
export interface Compared {
  /** Undefined when they agree. */
  readonly difference: Difference | undefined;
  /** Whether records had to come: answers with none agree easily. */
  readonly isTelling: boolean;
}

/** @throws Refused for a request that makes no sense */
export async function compareAnswers(
  api: Api,
  { world, nameOf, parametersOf }: Built,
  request: Request,
): Promise<Compared> {
  const table = tableOf(world, request.table);
  const parameters = parametersOf(request.parameters);
  if (parameters === undefined) throw new Refused("a row that is not there");
  const expected = evaluate(world, request.table, parameters);
  const isTelling = expected.data.length > 0;
  const { status, body } = await send(api, request.transport, nameOf(request.table), parameters);
  if (status === 200 && isSame(table, expected, body)) return { difference: undefined, isTelling };
  const actual = status === 200 ? withoutEnvelope(body) : { message: body?.message ?? null };
  return { difference: { status, parameters: { ...parameters }, expected, actual }, isTelling };
}

/** For requests that are made smaller, which may make no sense then. @returns undefined for those, and where both agree */
export async function differenceOf(
  api: Api,
  built: Built,
  request: Request,
): Promise<Difference | undefined> {
  try {
    return (await compareAnswers(api, built, request)).difference;
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

function withoutEnvelope({ data, meta }: JsonObject): JsonObject {
  return { ...(data === undefined ? {} : { data }), ...(meta === undefined ? {} : { meta }) };
}

/** Everything needed to see the difference again. */
export interface Finding {
  readonly seed: number;
  readonly case: number;
  /** Settings of the data service. */
  readonly road: Readonly<Record<string, string>>;
  readonly blueprint: Blueprint;
  readonly request: Request;
  readonly difference: Difference;
  /** Asked again at once, the service gave the right answer; such a difference can't be made smaller. */
  readonly isPassing: boolean;
}
