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

/** Undefined when both agree, or when the request makes no sense (which happens only while it is made smaller). */
export async function differenceOf(
  api: Api,
  { world, nameOf, parametersOf }: Built,
  request: Request,
): Promise<Difference | undefined> {
  const parameters = parametersOf(request.parameters);
  if (parameters === undefined || !world.tables.some(({ name }) => name === request.table)) return undefined;
  const expected = unlessRefused(() => evaluate(world, request.table, parameters));
  if (expected === undefined) return undefined;
  const { status, body } = await send(api, request.transport, nameOf(request.table), parameters);
  if (status === 200 && isSame(tableOf(world, request.table), expected, body)) return undefined;
  const actual = status === 200 ? withoutEnvelope(body) : { message: body?.message ?? null };
  return { status, parameters: { ...parameters }, expected, actual };
}

function withoutEnvelope({ data, meta }: JsonObject): JsonObject {
  return { ...(data === undefined ? {} : { data }), ...(meta === undefined ? {} : { meta }) };
}

function unlessRefused<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

/** Everything needed to see the difference again. */
export interface Finding {
  readonly seed: number;
  readonly case: number;
  readonly blueprint: Blueprint;
  readonly request: Request;
  readonly difference: Difference;
  /** Asked again at once, the service gave the right answer; such a difference can't be made smaller. */
  readonly isPassing: boolean;
}
