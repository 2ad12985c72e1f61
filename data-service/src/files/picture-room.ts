// Room for the pictures that are made of a file: those beyond the limit go. One run at a time for each file, which whoever comes
// meanwhile shares with others: many at once would each see the same surplus, and remove it again.
import { AppError } from "@portico/shared/app-error";
import type { Variant } from "../mongo/content-ledger.js";
import type { FileDeps } from "./deps.js";

/** Pictures kept for one file; the oldest are dropped. */
const KEPT = 24;
/** How many share a run. Beside them there is room for as many that are being sent since the run before. */
const MOST_SHARING = KEPT / 2;

interface Run {
  sharing: number;
  readonly done: Promise<void>;
}

/** By the content that the pictures are made from: the last run, and the one that has not begun. */
const last = new Map<string, Promise<void>>();
const toCome = new Map<string, Run>();

type RoomDeps = Pick<FileDeps, "contents" | "ledger">;

/**
 * Removes the pictures beyond the limit.
 * @param isWanted those whose makers still wait for this are not removed, whatever their time: a clock that is behind may have
 * given the oldest to one just made
 * @throws AppError 404 if the file was deleted while its picture was made
 */
export function makeRoom(
  deps: RoomDeps,
  content: string,
  isWanted: (variant: Variant) => boolean,
): Promise<void> {
  const shared = toCome.get(content);
  if (shared !== undefined && shared.sharing < MOST_SHARING) {
    shared.sharing += 1;
    return shared.done;
  }
  const before = last.get(content) ?? Promise.resolve();
  const done = before
    .catch(() => {})
    .then(() => {
      if (toCome.get(content) === run) toCome.delete(content);
      return removeSurplus(deps, content, isWanted);
    })
    .finally(() => {
      if (last.get(content) === done) last.delete(content);
    });
  const run: Run = { sharing: 1, done };
  last.set(content, done);
  toCome.set(content, run);
  return done;
}

async function removeSurplus(
  { contents, ledger }: RoomDeps,
  content: string,
  isWanted: (variant: Variant) => boolean,
): Promise<void> {
  if (!(await ledger.isNamed(content))) gone();
  const variants = await ledger.variantsOf(content);
  const others = variants.filter((variant) => !isWanted(variant));
  const surplus = others.slice(Math.max(MOST_SHARING, KEPT - (variants.length - others.length)));
  if (surplus.length === 0) return;
  const keys = surplus.map(({ key }) => key);
  // One by one: after a failure none is under way that would leave its bytes behind.
  await contents.letGo(keys, async () => {
    for (const each of surplus) await ledger.removeVariant(each);
  });
}

/** @throws AppError 404 for a file that was deleted while its picture was made */
export function gone(): never {
  throw new AppError("NOT_FOUND", "There is no such file any more.");
}
