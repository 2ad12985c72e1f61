// The tables with their columns, relations and record counts, as far as the user may see them.
import { encodeAddress, parseAddress } from "./address.js";
import { call, problemsOf } from "./api.js";
import { byId, element } from "./element.js";

const cards = byId("tables");
const note = byId("tables-note");
const NOT_VISIBLE =
  "The list of tables is for the root admin. You can still query every table you know by name.";

/** Shows what the user may see and answers the tables' names, or null when they are not visible. */
export async function showTables(user, onQuery) {
  if (user === null) return hideTables("Sign in to see the tables.");
  if (user.isRootAdmin === false) return hideTables(NOT_VISIBLE);
  const answer = await call("GET", "/api/svc_table?limit=0&sort=name");
  if (!answer.reached) return hideTables("The API could not be reached.");
  if (answer.status === 403) return hideTables(NOT_VISIBLE);
  if (!answer.ok) return hideTables(problemsOf(answer).join(" "));

  const tables = (answer.json?.data ?? []).filter(({ name }) => !name.startsWith("svc_"));
  note.textContent =
    tables.length === 0
      ? "No tables yet: run “Make a table of your own” above."
      : "What this database holds, ready to be queried.";
  cards.replaceChildren(...tables.map((table) => tableCard(table, tables, onQuery)));
  await Promise.all(tables.map(showCount));
  return tables.map(({ name }) => name);
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

function tableCard(table, tables, onQuery) {
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
      ...(table.columns ?? []).map(columnRow),
      ...relationsOf(table, tables).map(relationRow),
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

/** The table's own relations and those that other tables gave it by naming an inverse. */
function relationsOf(table, tables) {
  const own = (table.relations ?? []).map((relation) => ({
    name: relation.name,
    table: relation.table,
    many: relation.type === "many-to-many",
    required: relation.required === true,
  }));
  const inverse = tables.flatMap((other) =>
    (other.relations ?? [])
      .filter((relation) => relation.table === table.name && typeof relation.inverse === "string")
      .map((relation) => ({
        name: relation.inverse,
        table: other.name,
        many: relation.type !== "one-to-one",
        required: false,
      })),
  );
  return [...own, ...inverse];
}

function relationRow({ name, table, many, required }) {
  return row(
    "column relation",
    name,
    `→ ${many ? "many" : "one of"} ${table}${required ? ", required" : ""}`,
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
