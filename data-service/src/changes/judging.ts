// Judges changes for all streams of a process. One change wakes every stream at once, and their queries must leave room in
// the database for requests.
import pLimit from "p-limit";
import { getOrMake } from "../get-or-make.js";
import type { Numbered } from "../mongo/journal-store.js";
import { ownFields } from "../query/lower/read.js";
import type { Told, Wish } from "./judge.js";

/** How many judgements that ask more of the database than documents by their ids may run at once. */
const AT_ONCE = 4;

/** A judgement that several streams may wait for. */
interface BeingJudged {
  readonly told: Promise<Told[]>;
  /** Each is aborted when its stream is over. */
  readonly streams: AbortSignal[];
}

export class Judging {
  readonly #beingJudged = new WeakMap<Wish, Map<string, BeingJudged>>();
  readonly #inTurn = pLimit(AT_ONCE);

  /**
   * Judges entries when it is their turn. Streams that wish for the same with the same rights share a judgement under way.
   * @param stream aborted when the stream is over: it waits no longer, and a judgement that nobody waits for is dropped
   * @returns nothing when the stream is over
   */
  run(
    wish: Wish,
    entries: readonly Numbered[],
    stream: AbortSignal,
    judge: () => Promise<Told[]>,
  ): Promise<readonly Told[]> {
    const ofWish = getOrMake(this.#beingJudged, wish, () => new Map<string, BeingJudged>());
    const key = [entries[0], entries.at(-1)].map((each) => each?.position.entry).join(" ");
    const known = ofWish.get(key);
    if (known !== undefined) {
      known.streams.push(stream);
      return unlessOver(stream, known.told);
    }
    const streams = [stream];
    const isWanted = (): boolean => streams.some(({ aborted }) => !aborted);
    // At once, so that no stream joins a judgement that is being dropped.
    const forget = (): void => {
      if (ofWish.get(key)?.streams === streams) ofWish.delete(key);
    };
    const judgeIfWanted = async (): Promise<Told[]> => {
      if (isWanted()) return judge();
      forget();
      return [];
    };
    // Not before others that wait for the same moment have joined: the first stream may be over already.
    const soon = (): Promise<Told[]> => Promise.resolve().then(judgeIfWanted);
    const told = (isPlain(wish) ? soon() : this.#inTurn(judgeIfWanted)).finally(forget);
    ofWish.set(key, { told, streams });
    return unlessOver(stream, told);
  }
}

/**
 * It asks for nothing but documents by their ids, in one question for all streams, so it costs next to nothing and need not
 * wait.
 */
function isPlain({ node }: Wish): boolean {
  return ownFields(node) !== undefined;
}

function unlessOver(stream: AbortSignal, told: Promise<readonly Told[]>): Promise<readonly Told[]> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve([]);
    if (stream.aborted) leave();
    stream.addEventListener("abort", leave, { once: true });
    told.then(resolve, reject).finally(() => stream.removeEventListener("abort", leave));
  });
}
