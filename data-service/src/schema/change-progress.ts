// How far a change has come, for its table's record; and the check that the change is still ours to make.
import { AppError } from "@portico/shared/app-error";
import type { ChangeProgress } from "../mongo/catalog-documents.js";
import type { Holder } from "../mongo/change-lock.js";
import type { TableChange } from "../mongo/change-store.js";
import type { RequireLock } from "../mongo/table-writes.js";
import type { ChangeDeps } from "./change-deps.js";
import { newlyDerived } from "./newly-derived.js";
import { type ChangePlan, indexChanges } from "./plan-change.js";

export interface Progress {
  /** Call this before anything is taken away. @throws AppError when another instance has ended the change */
  readonly requireLock: RequireLock;
  /** This many more records or indexes are ready. @throws AppError when another instance has ended the change */
  readonly add: (count: number) => Promise<void>;
  /** Reports nothing if another instance has ended the change and so has reported it. */
  readonly end: (state: "done" | "failed", refusal: Refusal | null) => Promise<void>;
}

/** What the table's record says about why a change failed. */
type Refusal = Pick<ChangeProgress, "confirmHash"> & { readonly problem: string };

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof AppError)) return { problem: "an unforeseen error; see the log" };
  const hash = error.details?.confirmHash;
  return { problem: error.message, ...(typeof hash === "string" ? { confirmHash: hash } : {}) };
}

const RUNNING = { state: "running", finishedAt: null, problem: null } as const;

/** A change whose records are still asked, so that nothing shows it yet. */
interface Asking {
  readonly holder: Holder;
  readonly plan: ChangePlan;
  /** How long the asking may still take before the change is shown. */
  readonly patienceMs: number;
  /** Called once it is shown. */
  readonly accepted: () => void;
}

/** If checking takes long, shows the change as a running one, and a refusal then as its failure. */
export async function announced<Answer>(
  { catalogStore, clock, logger }: ChangeDeps,
  { holder, plan, patienceMs, accepted }: Asking,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const startedAt = clock.now();
  const report = (now: Pick<ChangeProgress, "state" | "finishedAt" | "problem" | "confirmHash">) =>
    catalogStore.report(plan.table, { id: holder.change, done: 0, total: 0, startedAt, ...now });
  const announce = async (): Promise<void> => {
    await report(RUNNING);
    accepted();
  };
  let announcement: Promise<void> | undefined;
  const begin = (): void => {
    announcement = announce().catch((err: unknown) => logger.warn({ err }, "a change is not announced"));
  };
  const timer = setTimeout(begin, Math.max(0, patienceMs));
  try {
    return await ask();
  } catch (error) {
    clearTimeout(timer);
    await announcement;
    if (announcement !== undefined)
      await report({ state: "failed", finishedAt: clock.now(), ...refusalOf(error) });
    throw error;
  } finally {
    clearTimeout(timer);
    // It must not overtake what is reported later.
    await announcement;
  }
}

/** Shows a change whose records have been asked: whatever there is to do, its answer must not show the change before it. */
export function reportBegun(
  { catalogStore }: ChangeDeps,
  { table }: ChangePlan,
  { id, at }: TableChange,
): Promise<void> {
  return catalogStore.report(table, { id, done: 0, total: 0, startedAt: at, ...RUNNING });
}

/** Counts what there is to do, and reports it. */
export async function progressOf(
  { catalogStore, changeLock, clock, data }: ChangeDeps,
  holder: Holder,
  plan: ChangePlan,
  change: TableChange,
): Promise<Progress> {
  const { before } = plan;
  const records = before === undefined || plan.fills.length === 0 ? 0 : await data.count(before);
  const visits = VISITS * (await parentsToCount(data, plan));
  const total = records * plan.fills.length + indexChanges(plan).build.length + visits;
  let done = 0;
  const report = (state: ChangeProgress["state"], refusal: Refusal | null): Promise<void> =>
    catalogStore.report(plan.table, {
      id: change.id,
      state,
      done: Math.min(done, total),
      total,
      startedAt: change.at,
      problem: null,
      ...refusal,
      finishedAt: state === "running" ? null : clock.now(),
    });
  if (total > 0) await report("running", null);
  const requireLock = () => changeLock.requireHeld(holder);
  return {
    requireLock,
    async add(count) {
      await requireLock();
      done += count;
      await report("running", null);
    },
    async end(state, refusal) {
      if (!(await changeLock.isHeld(holder))) return;
      if (state === "done") done = total;
      await report(state, refusal);
    },
  };
}

/** How often each of these is counted (CountStore.countAll): because of its children, and because it has a number. */
const VISITS = 2;

/** The records whose numbers of children will be kept from now on. */
async function parentsToCount(data: ChangeDeps["data"], plan: ChangePlan): Promise<number> {
  const { before, after, catalogs } = plan;
  const counted = (after && newlyDerived(before, after)?.counted) ?? [];
  const parents = counted.flatMap(({ target }) => catalogs.after.tables.get(target) ?? []);
  const numbers = await Promise.all(parents.map((table) => data.count(table)));
  return numbers.reduce((sum, each) => sum + each, 0);
}
