// The tables with their columns, relations and record counts, as far as the user may see them.
import { encodeAddress, parseAddress } from "./address.js";
import { call, problemsOf } from "./api.js";
import { byId, element } from "./element.js";

const cards = byId("tables");
const note = byId("tables-note");
/** Every table has these. */
const GENERATED = ["id", "createdAt", "updatedAt", "deletedAt"];

let asked = 0;

/**
 * Shows the tables that the user may see. Answers their names and the name of the table of tables, or null when none could be
 * looked at.
 */
export async function showTables(user, onQuery) {
  asked += 1;
  const mine = asked;
  if (user === null) return hideTables("Sign in to see the tables.");
  const answer = await call("GET", "/api/metadata");
  // Meanwhile they may be somebody else's.
  if (mine !== asked) return null;
  if (!answer.reached) return hideTables("The API could not be reached.");
  if (!answer.ok) return hideTables(problemsOf(answer).join(" "));

  const all = answer.json?.data ?? [];
  const tables = all.filter(({ system }) => !system).sort((a, b) => a.name.localeCompare(b.name, "en"));
  note.textContent =
    tables.length > 0
      ? "What this database holds, ready to be queried."
      : user.isRootAdmin === false
        ? "No table is open to you."
        : "No tables yet: run “Make a table of your own” above.";
  cards.replaceChildren(...tables.map((table) => tableCard(table, onQuery)));
  await Promise.all(tables.filter(({ actions }) => actions.read !== undefined).map(showCount));
  return {
    names: tables.map(({ name }) => name),
    tableOfTables: all.find(({ name, system }) => system && name.endsWith("table"))?.name,
  };
}

function hideTables(words) {
  note.textContent = words;
  cards.replaceChildren();
  return null;
}

async function showCount({ name }) {
  const address = encodeAddress(parseAddress(`/api/${name}?fields=id&limit=1&meta=totalCount`));
  const answer = await call("GET", address);
  const count = answer.json?.meta?.totalCount;
  const place = cards.querySelector(`[data-table="${CSS.escape(name)}"] .table-count`);
  if (typeof count === "number" && place !== null) {
    place.textContent = count === 1 ? "1 record" : `${count.toLocaleString("en")} records`;
  }
}

function tableCard(table, onQuery) {
  const query = element("button", { type: "button", class: "button quiet small" }, `Query ${table.name}`);
  query.addEventListener("click", () => onQuery(table.name));
  return element(
    "li",
    { class: "card table-card", "data-table": table.name },
    element(
      "div",
      { class: "table-head" },
      element("h3", {}, table.name),
      element("span", { class: "table-count" }),
    ),
    ...(table.description ? [element("p", { class: "table-about" }, table.description)] : []),
    element(
      "ul",
      { class: "columns", "aria-label": `Columns and relations of ${table.name}` },
      ...table.columns.filter(({ name }) => !GENERATED.includes(name)).map(columnRow),
      ...table.relations.map(relationRow),
    ),
    query,
  );
}

function columnRow(column) {
  const notes = [
    column.default !== undefined && column.default !== null && `default ${JSON.stringify(column.default)}`,
    Array.isArray(column.options?.values) && column.options.values.join(", "),
  ].filter(Boolean);
  const type = [column.type, column.required === true && "required", column.unique === true && "unique"];
  return row("column", column.name, type.filter(Boolean).join(", "), notes);
}

function relationRow({ name, table, type, required }) {
  return row(
    "column relation",
    name,
    `→ ${type === "to-many" ? "many" : "one of"} ${table}${required ? ", required" : ""}`,
    [],
  );
}

function row(kind, name, type, notes) {
  return element(
    "li",
    { class: kind },
    element("code", {}, name),
    element("span", { class: "column-type" }, type),
    ...(notes.length === 0 ? [] : [element("span", { class: "column-notes" }, notes.join(" · "))]),
  );
}
