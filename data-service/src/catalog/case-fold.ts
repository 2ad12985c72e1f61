// Maps letters that a case-insensitive search treats as equal to one letter. Coarser than MongoDB's own comparison (PCRE2,
// simple case folding), never finer: whatever MongoDB finds must be found here, too.
import { getOrMake } from "../get-or-make.js";

/**
 * Letters that got a counterpart in the other case only with Unicode 15.1 to 17. Which of these are known depends on Node.js
 * and on the database, but what is stored must not depend on them: all of these count as the same.
 */
const LATE = /^[\u019b\u0264\u1c89\u1c8a\ua7cb-\ua7dc\u{10d50}-\u{10d85}\u{16ea0}-\u{16ed3}]$/u;
const ANY_LATE = "\uffff";

/** Of letters that were asked for, but for those that need two code units: texts repeat them, and finding one takes long. */
const known = new Map<string, string>();

/** The letter that stands for all cases of one code point. */
export function foldLetter(letter: string): string {
  if (letter < "\u0080") return letter.toLowerCase();
  const before = known.get(letter);
  if (before !== undefined) return before;
  const fold = findFold(letter);
  if (letter.length === 1) known.set(letter, fold);
  return fold;
}

function findFold(letter: string): string {
  if (LATE.test(letter)) return ANY_LATE;
  const upper = oneLetter(letter.toUpperCase()) ?? letter;
  return oneLetter(upper.toLowerCase()) ?? upper;
}

/** The capital of ß is two letters, which simple case folding does not produce. */
function oneLetter(text: string): string | undefined {
  const [first, second] = text;
  return second === undefined ? first : undefined;
}

/** Planes beyond these have no letters with case. */
const PLANES_WITH_CASE = 0x20000;
let allCases: ReadonlyMap<string, readonly string[]> | undefined;

/** Every letter that folds to the same letter, itself included. */
export function casesOf(letter: string): readonly string[] {
  allCases ??= gatherCases();
  return allCases.get(foldLetter(letter)) ?? [letter];
}

/** Only folds that several letters share. */
function gatherCases(): ReadonlyMap<string, readonly string[]> {
  const byFold = new Map<string, string[]>();
  for (let point = 0; point < PLANES_WITH_CASE; point += 1) {
    const letter = String.fromCodePoint(point);
    getOrMake(byFold, findFold(letter), () => [] as string[]).push(letter);
  }
  return new Map([...byFold].filter(([, letters]) => letters.length > 1));
}
