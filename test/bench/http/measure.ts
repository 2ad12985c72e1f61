// Asks every target every workload in turns, so that whatever else the machine does meets all of them alike.
import { JUDGED_CONNECTIONS } from "./bars.js";
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

/** @throws every answer that is not right */
export async function check(
  targets: readonly Target[],
  workloads: readonly WorkloadName[],
  facts: Facts,
): Promise<void> {
  const problems: string[] = [];
  for (const target of targets) {
    for (const workload of workloads.filter((each) => can(target, each))) {
      for (let turn = 1; turn <= CHECKS; turn += 1) {
        const problem = await problemWith(target, workload, turn, facts);
        if (problem !== undefined) problems.push(`${target.name}, ${problem}`);
      }
    }
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

async function problemWith(
  target: Target,
  workload: WorkloadName,
  turn: number,
  facts: Facts,
): Promise<string | undefined> {
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
  if (!response.ok) return `${workload}: ${response.status} ${bytes.toString().slice(0, 500)}`;
  const answer: Answer = { bytes, headers: { "set-cookie": response.headers.getSetCookie() } };
  return problemOf(workload, question, dialect.read(workload, answer), facts, dialect.leavesOut?.[workload]);
}

/** Every workload once, so that code is compiled and pages are in memory. */
export async function warmUp(
  load: LoadGenerator,
  targets: readonly Target[],
  plan: Plan,
  milliseconds: number,
): Promise<void> {
  for (const workload of plan.workloads) {
    for (const target of targets.filter((each) => can(each, workload))) {
      await measureOne(load, target, workload, JUDGED_CONNECTIONS, { ...plan, milliseconds });
    }
  }
}

/** More connections than the bars hold at are not put on a server when one answer for each takes longer than this. */
const LONGEST_TURN_SECONDS = 15;

/** What was not measured because it would take too long. */
export type LeftOut = Pick<Cell, "target" | "workload" | "connections">;

export async function measure(
  load: LoadGenerator,
  targets: readonly Target[],
  plan: Plan,
  tell: (text: string) => void,
): Promise<{ cells: readonly Cell[]; leftOut: readonly LeftOut[] }> {
  const cells: Cell[] = [];
  const leftOut: LeftOut[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const workload of plan.workloads) {
      for (const connections of plan.connections) {
        for (const target of inTurn(targets, workload, round)) {
          const row = { target: target.name, workload, connections };
          if (isTooSlow(cells, row)) {
            if (round === 0) leftOut.push(row);
            continue;
          }
          const measured = await measureOne(load, target, workload, connections, plan);
          cells.push({ ...row, ...measured });
          tell(lineOf(round, target, workload, connections, measured));
        }
      }
    }
  }
  return { cells, leftOut };
}

/** Those that can, each of which begins once, as far as there are rounds. */
function inTurn(targets: readonly Target[], workload: WorkloadName, round: number): Target[] {
  const able = targets.filter((target) => can(target, workload));
  const first = round % Math.max(1, able.length);
  return [...able.slice(first), ...able.slice(0, first)];
}

/** Judged by its first round with as many connections as the bars hold at. */
function isTooSlow(cells: readonly Cell[], { target, workload, connections }: LeftOut): boolean {
  if (connections <= JUDGED_CONNECTIONS) return false;
  const judged = cells.find(
    (cell) => cell.target === target && cell.workload === workload && cell.connections === JUDGED_CONNECTIONS,
  );
  return judged !== undefined && (connections * judged.seconds) / judged.times.length > LONGEST_TURN_SECONDS;
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
