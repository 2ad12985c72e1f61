// What lies in the database when no service is there: records by key, links that lead nowhere, bytes and their records.
import type { Db } from "mongodb";
import { KEYS, LINKS } from "./tables.js";
import type { Present } from "./writer.js";

/** How often each key is there, by table. */
export async function presentIn(db: Db): Promise<Present> {
  const present = new Map<string, Map<string, number>>();
  for (const [table, column] of Object.entries(KEYS)) {
    const counts = new Map<string, number>();
    for await (const document of db.collection(table).find({}, { projection: { [column]: 1 } }))
      counts.set(document[column], (counts.get(document[column]) ?? 0) + 1);
    present.set(table, counts);
  }
  return present;
}

/** Everything that is wrong, whatever was written: the list is empty. */
export async function wrongIn(db: Db): Promise<string[]> {
  const dangling = await Promise.all(LINKS.map((link) => danglingLinks(db, link)));
  return [
    ...dangling.flat(),
    ...(await wrongCounts(db)),
    ...(await wrongContents(db)),
    ...(await leftovers(db)),
  ];
}

async function danglingLinks(db: Db, [from, field, to]: (typeof LINKS)[number]): Promise<string[]> {
  const there = new Set((await db.collection(to).distinct("_id")).map(String));
  const linked = await db
    .collection(from)
    .find({ [field]: { $exists: true } }, { projection: { [field]: 1, key: 1 } })
    .toArray();
  return linked.flatMap((document) =>
    [document[field]]
      .flat()
      .filter((id) => !there.has(String(id)))
      .map((id) => `${from} ${document.key}.${field} leads to ${id}, which is no record of ${to}`),
  );
}

async function wrongCounts(db: Db): Promise<string[]> {
  const shelves = await db.collection("shelves").find().toArray();
  const problems: string[] = [];
  for (const shelf of shelves) {
    const real = await db.collection("books").countDocuments({ shelfId: shelf._id });
    const field = Object.keys(shelf).find((name) => /^_n_[0-9a-z]+$/i.test(name));
    const kept = field === undefined ? 0 : shelf[field];
    if (kept !== real) problems.push(`shelf ${shelf.key} counts ${kept} books instead of ${real}`);
  }
  return problems;
}

async function wrongContents(db: Db): Promise<string[]> {
  const problems: string[] = [];
  const records = await db.collection("svc_file").find().toArray();
  const sizes = new Map<string, number>();
  for await (const { _id, length } of db.collection("_content.files").find()) sizes.set(String(_id), length);
  const stored = new Map<string, number>();
  for await (const { files_id, data } of db.collection("_content.chunks").find())
    stored.set(String(files_id), (stored.get(String(files_id)) ?? 0) + data.length());
  for (const { filename, filesize, _contentKey: key } of records) {
    if (sizes.get(key) !== filesize || stored.get(key) !== filesize)
      problems.push(`file ${filename} of ${filesize} bytes has ${stored.get(key) ?? 0}`);
    sizes.delete(key);
    stored.delete(key);
  }
  for (const key of new Set([...sizes.keys(), ...stored.keys()]))
    problems.push(`the bytes ${key} belong to no file`);
  return problems;
}

/** A mark whose parents have been counted stays a while, as does a note that was worked off: both are gone through once more. */
export const NOT_DONE = { counted: { $ne: true }, again: { $ne: true } };

/** What a service notes down while it works is cleared away when nothing is under way. */
async function leftovers(db: Db): Promise<string[]> {
  const names = ["_content_pending", "_counting", "_unfinished"];
  const counts = await Promise.all(names.map((name) => db.collection(name).countDocuments(NOT_DONE)));
  return names.flatMap((name, at) => (counts[at] === 0 ? [] : [`${counts[at]} left in ${name}`]));
}
