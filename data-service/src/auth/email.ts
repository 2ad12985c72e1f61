// One spelling per e-mail address: what is stored is what is compared.

const MAX_CHARACTERS = 254;
/**
 * A longer text is too long even once it is composed. Normalising a run of combining marks takes the square of its length:
 * minutes for a body of 1 MiB.
 */
const MAX_COMPOSED = 4 * MAX_CHARACTERS;

/**
 * Trimmed, lower-cased, then composed (NFC), because some letters have a composed form only in lower case. `Mike@X.io` and
 * `mike@x.io` are one address, `mıke@x.io` is another. A text that is too long for an address stays as it is.
 */
export function normalizeEmail(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > MAX_COMPOSED ? trimmed : trimmed.toLowerCase().normalize("NFC");
}

/**
 * Says what is wrong with a normalised address, as the end of a sentence that begins with the field's name; undefined when
 * nothing is. The check is deliberately loose: only a message that arrives proves an address.
 */
export function emailProblem(email: string): string | undefined {
  if (email.length > MAX_CHARACTERS) return `must have at most ${MAX_CHARACTERS} characters`;
  return /^[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+$/u.test(email) ? undefined : "must be an e-mail address";
}
