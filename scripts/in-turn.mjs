// One process after the other sets Portico up.
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { SetupError } from "./run-script.mjs";

/** No set-up takes longer: a process that runs under that number then is another. */
const LONGEST_TURN_MS = 15 * 60_000;
/** Naming itself takes a process no time, unless it is killed at that, or the disk is full. */
const LONGEST_NAMELESS_MS = 5_000;
const LOOK_MS = 100;

/**
 * Does the work while no other process does: two who install or build in one folder at once would each run half of what the
 * other has written. The turn of one that was killed is over.
 * @param {string} turn the file that names the process whose turn it is
 * @param {() => void} work
 */
export function inTurn(turn, work) {
  if (!takeTurn(turn)) return work();
  try {
    work();
  } finally {
    rmSync(turn, { force: true });
  }
}

/** @returns false where nothing can be written, so that there is nothing to take turns for */
function takeTurn(turn) {
  const began = Date.now();
  let told;
  for (;;) {
    try {
      writeFileSync(turn, String(process.pid), { flag: "wx" });
      return true;
    } catch (error) {
      if (error.code !== "EEXIST") return false;
    }
    const holder = holderOf(turn);
    if (holder === undefined) continue;
    const { pid, ms } = holder;
    if (isOver(holder, Date.now() - began)) {
      if (!takeAway(turn, pid)) return false;
      continue;
    }
    if (told !== pid && ms > LOOK_MS && pid > 0) {
      console.error(`Waiting for process ${pid}, which is setting Portico up …`);
      told = pid;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
  }
}

/**
 * @returns its number, 0 while it has not named itself, none where only another user may read it; and for how long it has had
 * the turn. Undefined when that has gone
 */
function holderOf(turn) {
  try {
    const ms = Date.now() - statSync(turn).mtimeMs;
    try {
      return { pid: Number(readFileSync(turn, "utf8")) || 0, ms };
    } catch (error) {
      if (error.code === "EACCES") return { pid: undefined, ms };
      throw error;
    }
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw new SetupError(`${turn} can't be read (${error.message}).`);
  }
}

/** @param waitedMs counts as well, for clocks are set back */
function isOver({ pid, ms }, waitedMs) {
  // One that was killed had the number that this one has now, as happens in containers.
  if (pid === process.pid) return true;
  if (pid > 0 && !isRunning(pid)) return true;
  return Math.max(ms, waitedMs) > (pid === 0 ? LONGEST_NAMELESS_MS : LONGEST_TURN_MS);
}

/** @returns false where that can't be done, so that nothing can be written there either */
function takeAway(turn, pid) {
  const aside = `${turn}.${process.pid}`;
  try {
    // By one of those who wait: the others would remove the turn that it takes next.
    renameSync(turn, aside);
    if (holderOf(aside)?.pid !== pid) linkSync(aside, turn);
  } catch (error) {
    if (!["ENOENT", "EEXIST"].includes(error.code)) return false;
  }
  rmSync(aside, { force: true });
  return true;
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
