// The numbers that new records get in tables with whole-number ids: each is given only once.
import type { Collection, Db } from "mongodb";

/** By the id of the table; a sequence that does not exist yet begins at 1. */
interface SequenceDocument {
  _id: string;
  /** The last number that was given. */
  last: number;
}

function sequencesOf(db: Db): Collection<SequenceDocument> {
  return db.collection<SequenceDocument>("_sequences");
}

/** Gives some numbers in a row. @returns the last of them */
export async function takeNumbers(db: Db, table: string, count: number): Promise<number> {
  const change = { $inc: { last: count } };
  const options = { upsert: true, returnDocument: "after" } as const;
  const taken = await sequencesOf(db).findOneAndUpdate({ _id: table }, change, options);
  if (taken === null) throw new Error(`the sequence of table ${table} gave nothing`);
  return taken.last;
}

/** The last number that was given; 0 before the first. */
export async function lastGiven(db: Db, table: string): Promise<number> {
  return (await sequencesOf(db).findOne({ _id: table }))?.last ?? 0;
}

/** Continues above this number, if it has not come that far. */
export async function raiseSequence(db: Db, table: string, last: number): Promise<void> {
  await sequencesOf(db).updateOne({ _id: table }, { $max: { last } }, { upsert: true });
}

/** For a table that is gone. */
export async function forgetSequence(db: Db, table: string): Promise<void> {
  await sequencesOf(db).deleteOne({ _id: table });
}
