// Fills the SQLite file of a stopped Directus: load.mjs <file> reads rows from standard input, a JSON line each:
// {"sql": …} to run, or {"table": …, "rows": [{…}, …]}.
import { createInterface } from "node:readline";
import sqlite3 from "sqlite3";

const db = new sqlite3.Database(process.argv[2]);
const run = (sql, values = []) =>
  new Promise((resolve, reject) => db.run(sql, values, (error) => (error ? reject(error) : resolve())));

await run("BEGIN");
for await (const line of createInterface(process.stdin)) {
  const { sql, table, rows } = JSON.parse(line);
  if (sql !== undefined) await run(sql);
  else {
    const columns = Object.keys(rows[0]);
    const marks = rows.map(() => `(${columns.map(() => "?").join(",")})`).join(",");
    const names = columns.map((name) => `"${name}"`).join(",");
    await run(
      `INSERT INTO "${table}" (${names}) VALUES ${marks}`,
      rows.flatMap((row) => Object.values(row)),
    );
  }
}
await run("COMMIT");
db.close();
