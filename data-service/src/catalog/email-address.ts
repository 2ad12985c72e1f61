// What an e-mail address is, in one spelling: what is stored is what is compared. Pure.

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

const JOINER = String.raw`[\u200c\u200d]`;
const ARABIC = String.raw`\p{Script=Arabic}`;
/** The signs of Indic scripts, from Devanagari to Sinhala, that take the vowel from a letter and bind it to the next. */
const VIRAMA = String.raw`\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca`;
/**
 * Characters that nobody sees, by which two addresses could look alike. The two joiners are seen between Arabic letters and after
 * a virama, by how the letters around them look (RFC 5892, appendix A).
 */
const UNSEEN = new RegExp(
  [
    String.raw`[\p{Cc}\p{Cs}]`,
    String.raw`(?!${JOINER})\p{Default_Ignorable_Code_Point}`,
    `(?<![${ARABIC}${VIRAMA}])${JOINER}`,
    `(?<=${ARABIC})${JOINER}(?!${ARABIC})`,
  ].join("|"),
  "u",
);
/** One label of a domain, in any script: the mail server knows whether it exists. */
const LABEL = String.raw`(?!-)[^\s@.]+(?<!-)`;
const ADDRESS = new RegExp(String.raw`^[^\s@"(),:;<>[\]\\]{1,64}@${LABEL}(?:\.${LABEL})*$`, "u");

/**
 * Whether a text is an address, of a host without a dot too, as in a company's own network. Deliberately loose: only a
 * message that arrives proves an address.
 */
export function isEmailAddress(text: string): boolean {
  return text.length <= MAX_CHARACTERS && ADDRESS.test(text) && !UNSEEN.test(text);
}

/**
 * Says what is wrong with a normalised address by which a user is to sign in, as the end of a sentence that begins with the
 * field's name; undefined when nothing is.
 */
export function emailProblem(email: string): string | undefined {
  if (email.length > MAX_CHARACTERS) return `must have at most ${MAX_CHARACTERS} characters`;
  return isEmailAddress(email) ? undefined : "must be a valid email";
}
