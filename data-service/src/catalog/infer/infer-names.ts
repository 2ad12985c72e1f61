// Names of collections and fields, as other programs choose them -> names that tables and members can have.
import { memberNameProblem, tableNameProblem } from "../names.js";

const LONGEST = 63;
/** Leaves room for a number after a name that is taken. */
const SHORTENED = 56;

/** `blogPosts` → `blog_posts`. @param taken names of existing tables */
export function tableNameFor(collection: string, systemPrefix: string, taken: ReadonlySet<string>): string {
  const words = plain(collection)
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
  const name = beginning(words, "t");
  // Judged with its number: of two `svc`, the second would be `svc_2`, a system table.
  const own = free(name, taken);
  if (tableNameProblem(own, systemPrefix) === undefined) return own;
  const letter = systemPrefix.startsWith("t") ? "x" : "t";
  return free(`${letter}_${name}`.slice(0, SHORTENED), taken);
}

/** `first name` → `first_name`; a field that has the name of a generated column → `id_field`. */
export function memberNameFor(field: string, taken: ReadonlySet<string>): string {
  const name = beginning(plain(field), "f");
  return free(memberNameProblem(name) === undefined ? name : `${name}_field`.slice(0, LONGEST), taken);
}

/** `authorId`, `author_id`, `author` → `author`; where it is to be plural, `tagIds`, `tag_ids`, `tags` → `tags`. */
export function relationNameFor(field: string, isPlural: boolean, taken: ReadonlySet<string>): string {
  const base = withoutId(field);
  const wish = base === field || !isPlural ? base : plural(base);
  const name = memberNameFor(wish, new Set());
  return taken.has(name) ? memberNameFor(field, taken) : name;
}

/** Does the name of a field suggest the documents of a collection? `authorId` of `authors`, `parent` of its own. */
export function hintsAt(field: string, collection: string, isOwn: boolean): boolean {
  const [meant, target] = [stem(withoutId(field)), stem(collection)];
  if (isOwn && /^(?:parent|child|children)$/.test(meant)) return true;
  return target.length > 2 && meant.endsWith(target);
}

/** The first of `name`, `name_2`, `name_3` … that is free. */
export function free(name: string, taken: ReadonlySet<string>): string {
  let candidate = name;
  for (let count = 2; taken.has(candidate); count += 1) candidate = `${name.slice(0, SHORTENED)}_${count}`;
  return candidate;
}

/** Only letters, digits and `_`; letters lose their accents. */
function plain(text: string): string {
  const ascii = text.normalize("NFKD").replace(/\p{M}/gu, "");
  return ascii.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
}

function beginning(name: string, letter: string): string {
  const begun = /^[a-zA-Z]/.test(name) ? name : `${letter}_${name}`;
  return begun.slice(0, LONGEST).replace(/_+$/, "");
}

function withoutId(field: string): string {
  return field.replace(/(?<=.)(?:_ids?|Ids?|IDs?)$/, "");
}

function plural(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
}

/** The singular, in lower case without separators. In English, as most names are. */
function stem(name: string): string {
  const letters = plain(name).replaceAll("_", "").toLowerCase();
  if (/ies$/.test(letters)) return `${letters.slice(0, -3)}y`;
  if (/(?:s|x|ch|sh)es$/.test(letters)) return letters.slice(0, -2);
  return letters.replace(/(?<!s)s$/, "");
}
