// A folder's name -> what stands for it in an address. Pure.

const MAX_LENGTH = 100;
/**
 * Enough for a slug, however much of it is dropped; normalising a run of combining marks takes the square of its length.
 */
const MAX_LOOKED_AT = 20 * MAX_LENGTH;

/** In other scripts marks tell words apart, as in й and и, ガ and カ. Selectors only choose how a sign is drawn. */
const DROPPED_MARKS = /(?<=[\p{Script=Latin}\p{N}])\p{M}+|\p{Variation_Selector}/gu;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** Lower-case letters and digits of any script with `-` between them; marks on Latin letters are dropped. */
export function slugOf(name: string): string {
  const plain = name
    .slice(0, MAX_LOOKED_AT)
    .toWellFormed()
    .normalize("NFKD")
    .replaceAll(DROPPED_MARKS, "")
    .normalize("NFC")
    .toLowerCase();
  const slug = (plain.match(WORD) ?? []).join("-");
  return [...slug].slice(0, MAX_LENGTH).join("").replace(/-$/, "") || "folder";
}
