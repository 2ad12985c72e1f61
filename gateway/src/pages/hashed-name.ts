// Whether a file's name holds a build tool's hash of its content: such a file never changes. Pure.

const CODE_OR_FONT = String.raw`\.(?:(?:[cm]?js|css)(?:\.map)?|wasm|woff2?|ttf|otf)$`;
const HEX = String.raw`(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]`;

/** Hexadecimal (webpack) or base 32 with a digit before a letter (esbuild); a long one in the name of any file. */
const PLAIN_HASH = new RegExp(
  String.raw`[.-](?:${HEX}{8,}|(?=[A-Z]*[2-7]+[A-Z])[A-Z2-7]{8})${CODE_OR_FONT}|[.-]${HEX}{16,}\.\w+$`,
);

/** Eight mixed characters (Rollup, Vite), which are no word before a number as `Medium18` is. */
const MIXED_HASH = new RegExp(
  String.raw`[.-](?![A-Za-z]+\d+\.)(?=\w*\d)(?=\w*[A-Z])(?=\w*[a-z])\w{8}${CODE_OR_FONT}`,
);

/** Where build tools put files with such names; elsewhere `Q3Report` is rather somebody's own. */
const BUILT = /^(?:assets|static|_\w+)[\\/]/;

/**
 * A hash that is not recognised only costs a revalidation.
 * @param path from the app's folder on
 */
export function hasHashedName(path: string): boolean {
  return PLAIN_HASH.test(path) || (BUILT.test(path) && MIXED_HASH.test(path));
}
