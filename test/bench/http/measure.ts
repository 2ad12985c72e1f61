// Asks every target every workload in turns, so that whatever else the machine does meets all of them alike.
import { type Facts, problemOf } from "./check.js";
import { type Answer, CHECKS, type Dialect } from "./dialect.js";
import { DIALECTS } from "./dialects/index.js";
import type { LoadGenerator, Measured } from "./load.js";
import type { Target } from "./system.js";
import { questionOf, type WorkloadName } from "./workloads.js";

export interface Plan {
  readonly workloads: readonly WorkloadName[];
  readonly connections: readonly number[];
  readonly rounds: number;
  readonly milliseconds: number;
  readonly warmUpMs: number;
}

/** One target's round of one workload. */
export interface Cell extends Measured {
  readonly target: Target["name"];
  readonly workload: WorkloadName;
  readonly connections: number;
}

export const dialectOf = (target: Target): Dialect => DIALECTS[target.name];

/** Whether the target can do the workload. */
export function can(target: Target, workload: WorkloadName): boolean {
  return dialectOf(target).cannot[workload] === undefined;
}

/** @throws the problem of the first answer that is not right */
export async function check(
  targets: readonly Target[],
  workloads: readonly WorkloadName[],
  facts: Facts,
): Promise<void> {
  for (const target of targets) {
    for (const workload of workloads.filter((each) => can(target, each))) {
      for (let turn = 1; turn <= CHECKS; turn += 1) await checkOne(target, workload, turn, facts);
    }
  }
}

async function checkOne(target: Target, workload: WorkloadName, turn: number, facts: Facts): Promise<void> {
  const dialect = dialectOf(target);
  const question = questionOf(turn, turn, facts.posts);
  // From the end of the list: the load process begins at its start.
  const session = target.context.sessions.at(-turn) ?? "";
  const ask = dialect.ask(workload, question, target.context, session);
  const response = await fetch(target.url + ask.path, {
    method: ask.method,
    headers: {
      ...target.context.always,
      ...(ask.signedIn === false ? {} : target.context.headers),
      "content-type": "application/json",
    },
    ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok)
    throw new Error(`${target.name}, ${workload}: ${response.status} ${bytes.toString().slice(0, 500)}`);
  const answer: Answer = { bytes, headers: { "set-cookie": response.headers.getSetCookie() } };
  const problem = problemOf(
    workload,
    question,
    dialect.read(workload, answer),
    facts,
    dialect.leavesOut?.[workload],
  );
  if (problem !== undefined) throw new Error(`${target.name}, ${problem}`);
}

/** Every workload once with few connections, so that code is compiled and pages are in memory. */
export async function warmUp(
  load: LoadGenerator,
  targets: readonly Target[],
  plan: Plan,
  milliseconds: number,
): Promise<void> {
  for (const workload of plan.workloads) {
    for (const target of targets.filter((each) => can(each, workload))) {
      await measureOne(load, target, workload, 4, { ...plan, milliseconds });
    }
  }
}

export async function measure(
  load: LoadGenerator,
  targets: readonly Target[],
  plan: Plan,
  tell: (text: string) => void,
): Promise<Cell[]> {
  const cells: Cell[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const workload of plan.workloads) {
      for (const connections of plan.connections) {
        const able = targets.filter((target) => can(target, workload));
        // Each begins once, as far as there are rounds.
        const turn = round % Math.max(1, able.length);
        for (const target of [...able.slice(turn), ...able.slice(0, turn)]) {
          const measured = await measureOne(load, target, workload, connections, plan);
          cells.push({ target: target.name, workload, connections, ...measured });
          tell(lineOf(round, target, workload, connections, measured));
        }
      }
    }
  }
  return cells;
}

function measureOne(
  load: LoadGenerator,
  { name, url, context, processes }: Target,
  workload: WorkloadName,
  connections: number,
  { milliseconds, warmUpMs }: Pick<Plan, "milliseconds" | "warmUpMs">,
): Promise<Measured> {
  return load.measure(
    { target: name, workload, connections, url, context, warmUpMs, milliseconds },
    processes,
  );
}

function lineOf(
  round: number,
  target: Target,
  workload: WorkloadName,
  connections: number,
  { times, errors, seconds }: Measured,
): string {
  const failed = Object.keys(errors).length === 0 ? "" : ` ${JSON.stringify(errors)}`;
  const rate = (times.length / seconds).toFixed(0);
  return `${round + 1} ${workload} ${connections} ${target.name}: ${rate}/s${failed}`;
}
