// Asks every case at every size in turns, and keeps the times.
import { type Answer, type Api, search } from "../../support/api.js";
import type { Case } from "./cases.js";

/** A data service over tables of one size. */
export interface Sized {
  readonly posts: number;
  readonly api: Api;
}

export interface Measured {
  readonly posts: number;
  /** Milliseconds from asking to the last byte, in the order measured. */
  readonly times: readonly number[];
  readonly documentsExamined: number;
  readonly keysExamined: number;
  /** Records in the answer. */
  readonly returned: number;
}

interface Budget {
  /** Repetitions that count, unless time runs out. */
  readonly turns: number;
  readonly warmUp: number;
  /** A case ends after this many milliseconds, but not before it has `fewest` repetitions. */
  readonly milliseconds: number;
  readonly fewest: number;
}

/** Enough for a median; a case that takes seconds must not take an hour. */
export const BUDGET: Budget = { turns: 60, warmUp: 8, milliseconds: 60_000, fewest: 5 };

/**
 * Measures one case. The sizes take turns, so that whatever else the machine does meets all of them alike.
 * @returns one result a size, in their order
 */
export async function measure(
  each: Case,
  sizes: readonly Sized[],
  budget: Budget = BUDGET,
): Promise<Measured[]> {
  const started = performance.now();
  const times = new Map<Sized, number[]>(sizes.map((sized) => [sized, []]));
  for (let turn = 0; turn < budget.warmUp + budget.turns; turn += 1) {
    const late = performance.now() - started > budget.milliseconds;
    if (late && turn >= budget.fewest + Math.min(1, budget.warmUp)) break;
    for (const sized of sizes) times.get(sized)?.push(await timeOf(each, sized, turn));
  }
  // What was cut short has warmed up with one turn only.
  return Promise.all(
    sizes.map(async (sized) => {
      const all = times.get(sized) ?? [];
      const cold = all.length > budget.warmUp + budget.fewest ? budget.warmUp : Math.min(1, budget.warmUp);
      return { posts: sized.posts, times: all.slice(cold), ...(await explained(each, sized)) };
    }),
  );
}

async function timeOf(each: Case, { api, posts }: Sized, turn: number): Promise<number> {
  const { path, query } = each.request(turn, posts);
  const started = performance.now();
  const answer = await api.get(path, query);
  const time = performance.now() - started;
  requireRecords(answer, path, query);
  return time;
}

function requireRecords(
  { status, body }: Answer,
  path: string,
  query: Readonly<Record<string, unknown>>,
): void {
  if (status === 200 && body.data.length > 0) return;
  throw new Error(`${path}${search(query)} answered ${status} ${JSON.stringify(body).slice(0, 300)}`);
}

type Facts = Pick<Measured, "documentsExamined" | "keysExamined" | "returned">;

/** What one turn reads, questions and counts included. */
async function explained(each: Case, { api, posts }: Sized): Promise<Facts> {
  const turn = 1;
  const asked = each.request(turn, posts);
  const answer = await api.get(asked.path, asked.query);
  const { path, query } = (each.explained ?? each.request)(turn, posts);
  const plan = await api.get(path, { ...query, explain: "true" });
  requireRecords(plan, path, query);
  const [whole] = plan.body.data;
  const parts: Facts[] = [whole, ...whole.questions, ...(whole.counts ?? [])];
  const sum = (name: keyof Facts): number => parts.reduce((total, part) => total + part[name], 0);
  return {
    documentsExamined: sum("documentsExamined"),
    keysExamined: sum("keysExamined"),
    returned: answer.body.data.length,
  };
}
