// Maps letters that a case-insensitive search treats as equal to one letter. Coarser than MongoDB's own comparison
// (PCRE2, simple case folding), never finer: whatever MongoDB finds must be found here too.

/**
 * Letters that got a partner in another case only with Unicode 15.1 to 17. Which of them are known depends on Node.js
 * and on the database, and what is stored must not: all of them count as the same.
 */
const LATE = /^[\u019b\u0264\u1c89\u1c8a\ua7cb-\ua7dc\u{10d50}-\u{10d85}\u{16ea0}-\u{16ed3}]$/u;
const ANY_LATE = "\uffff";

/** The letter that stands for one code point in all its cases. */
export function foldLetter(letter: string): string {
  if (letter < "\u0080") return letter.toLowerCase();
  if (LATE.test(letter)) return ANY_LATE;
  const upper = oneLetter(letter.toUpperCase()) ?? letter;
  return oneLetter(upper.toLowerCase()) ?? upper;
}

/** ß in capitals is two letters, which no simple case folding makes of it. */
function oneLetter(text: string): string | undefined {
  const [first, second] = text;
  return second === undefined ? first : undefined;
}

/** Beyond these planes there are no letters with case. */
const PLANES_WITH_CASE = 0x20000;
let allCases: ReadonlyMap<string, readonly string[]> | undefined;

/** Every letter that folds like this one, itself among them. */
export function casesOf(letter: string): readonly string[] {
  allCases ??= gatherCases();
  return allCases.get(foldLetter(letter)) ?? [letter];
}

/** Only folds that more than one letter shares. */
function gatherCases(): ReadonlyMap<string, readonly string[]> {
  const byFold = new Map<string, string[]>();
  for (let point = 0; point < PLANES_WITH_CASE; point += 1) {
    const letter = String.fromCodePoint(point);
    const fold = foldLetter(letter);
    const others = byFold.get(fold);
    if (others === undefined) byFold.set(fold, [letter]);
    else others.push(letter);
  }
  return new Map([...byFold].filter(([, letters]) => letters.length > 1));
}
