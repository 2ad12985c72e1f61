// One spelling per e-mail address: what is stored is what is compared.

const MAX_CHARACTERS = 254;
/** Composed, a text of more is still too long. Normalising takes the square of a run of marks: minutes for a body of 1 MiB. */
const MAX_COMPOSED = 4 * MAX_CHARACTERS;

/**
 * Trimmed, lower-cased, then composed (NFC): of some letters only the small one has a form in one piece. `Mike@X.io` and
 * `mike@x.io` are one address, `mıke@x.io` is another. What is too long for an address stays as it is.
 */
export function normalizeEmail(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > MAX_COMPOSED ? trimmed : trimmed.toLowerCase().normalize("NFC");
}

/**
 * Says what is wrong with a normalised address, to be read after its field's name, or undefined.
 * The check is loose on purpose: only a message that arrives proves an address.
 */
export function emailProblem(email: string): string | undefined {
  if (email.length > MAX_CHARACTERS) return `must have at most ${MAX_CHARACTERS} characters`;
  return /^[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+$/u.test(email) ? undefined : "must be an e-mail address";
}
