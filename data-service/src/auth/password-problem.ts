// The one rule for new passwords: 8–1024 characters, hashed without truncation (contract, section 3.2).

const MIN_CHARACTERS = 8;
/** Limits the work that a client can ask for; far above any passphrase. */
export const PASSWORD_MAX_CHARACTERS = 1024;

/**
 * Says what is wrong with a new password, as the end of a sentence that begins with the field's name; undefined when nothing
 * is.
 */
export function passwordProblem(text: string): string | undefined {
  // A lone surrogate becomes U+FFFD in UTF-8, so two such passwords would have one hash.
  if (/\p{Surrogate}/u.test(text)) return "must be valid Unicode text";
  const characters = countCharacters(text);
  return characters < MIN_CHARACTERS || characters > PASSWORD_MAX_CHARACTERS
    ? `must have ${MIN_CHARACTERS} to ${PASSWORD_MAX_CHARACTERS} characters`
    : undefined;
}

/** Counts code points: an emoji is one character. */
export function countCharacters(text: string): number {
  return [...text].length;
}
