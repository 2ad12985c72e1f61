// A folder's name -> what stands for it in an address. Pure.

const MAX_LENGTH = 100;
/**
 * Enough for a slug, however much of it is dropped; normalising a run of combining marks takes the square of its length.
 */
const MAX_LOOKED_AT = 20 * MAX_LENGTH;

/** Lower-case letters and digits of any script with `-` between them; marks on Latin letters are dropped. */
export function slugOf(name: string): string {
  const plain = name
    .slice(0, MAX_LOOKED_AT)
    .toWellFormed()
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .normalize("NFC")
    .toLowerCase();
  const slug = plain.replaceAll(/[^\p{L}\p{N}]+/gu, "-").replaceAll(/^-|-$/g, "");
  return [...slug].slice(0, MAX_LENGTH).join("").replace(/-$/, "") || "folder";
}
