// Random tables, relations and records: many nulls, ties and equal values, and text that is hard to compare.
import type { Blueprint, RelationBlueprint, RowBlueprint, TableBlueprint } from "./blueprint.js";
import { type Draw, drawn } from "./draw.js";
import { COLUMN_TYPES, type Column, type ColumnType, type Json } from "./model.js";

/**
 * Letters whose simple case folding JavaScript (`iu`) and PCRE2 agree on. They differ in U+0390/1FD3, U+03B0/1FE3 and
 * U+FB05/FB06, which PCRE2 does not fold, and in letters that came with Unicode 15.1 or later (U+019B/A7DC, U+0264/A7CB,
 * U+1C89–1C8A, U+A7CC–A7DB, Garay, Beria Erfe): none of those is here.
 */
const LETTERS = [
  ...["a", "A", "b", "B", "z", "Z", "k", "K", "\u212a", "s", "S", "\u017f", "i", "I", "\u0130", "\u0131"],
  ...["é", "É", "e\u0301", "\u0301", "ß", "ẞ", "ss", "å", "Å", "\u212b", "σ", "Σ", "ς", "μ", "\u00b5"],
  ...[
    "ǆ",
    "ǅ",
    "Ǆ",
    "ÿ",
    "Ÿ",
    "д",
    "Д",
    "中",
    "ａ",
    "Ａ",
    "\ue000",
    "\uffee",
    "😀",
    "𐐀",
    "𐐨",
    "𝒜",
    "👩\u200d🚀",
  ],
  ...[" ", "\t", "\n", "\r\n", "0", "9", "10", "-", "_", "%", "*", ".", "?", "+", "^", "$", "|", "\\", "\\d"],
  ...[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "/",
    "'",
    '"',
    ",",
    ":",
    "&",
    "=",
    "#",
    "\\E",
    "\u00a0",
    "\u00ad",
    "\ufeff",
  ],
];
const WHOLE_TEXTS = [
  ...["", "$name", "$$ROOT", "$id", "null", "true", "0", "Ann", "ann", "ANN", "Anna", "a.b", "a\nb", "b\n"],
  ...["__proto__", "constructor", "{}", "[]", "2024-05-31", "ObjectId", "Straße", "STRASSE", "straße"],
];
const MEMBERS = ["red", "green", "Blue", "ä", "a b", "$x", "zz", "Z"];
const UUIDS = [
  "0190163d-8694-739b-aea5-966c26f8ad9",
  "ffffffff-ffff-4fff-bfff-fffffffffff",
  "00000000-0000-4000-8000-00000000000",
];
const DAYS = [
  "1969-12-31",
  "1970-01-01",
  "2000-02-29",
  "2024-02-29",
  "2024-05-31",
  "2024-06-01",
  "2038-01-19",
  "1900-01-01",
];
const HOURS = ["00:00:00.000Z", "23:59:59.999Z", "12:00:00.123Z", "12:00:00.124Z", "06:30:00.000Z"];

export function valueOfType(draw: Draw, { type, values = [] }: Pick<Column, "type" | "values">): Json {
  switch (type) {
    case "string":
    case "text":
      if (draw.chance(25)) return draw.pick(WHOLE_TEXTS);
      return draw.times(0, draw.pick([5, 5, 5, 14]), () => draw.pick(LETTERS)).join("");
    case "int":
      return draw.chance(3)
        ? draw.pick([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 31, -(2 ** 31) - 1])
        : draw.int(-5, 12);
    case "bigint":
      return draw.chance(20)
        ? draw.pick(["9223372036854775807", "-9223372036854775808", "9007199254740993", "9007199254740992"])
        : String(draw.int(-3, 100));
    case "float":
      return draw.chance(10) ? draw.pick([0.1, 0.2, 0.3, 1e6, -1e6, 1e-7]) : draw.int(-24, 40) / 8;
    case "decimal":
      return draw.chance(8)
        ? draw.pick(["12345678901234567890.12345678901234", "-0.0000000001", "999999999999999999999999"])
        : draw.pick([
            "0",
            "0.00",
            "1",
            "1.0",
            "1.00",
            "19.90",
            "19.9",
            "20",
            "-1.5",
            "-1.50",
            "0.1",
            "0.2",
            "100",
            "9",
          ]);
    case "boolean":
      return draw.chance(50);
    case "date":
      return draw.pick(DAYS);
    case "datetime":
      return `${draw.pick(DAYS)}T${draw.pick(HOURS)}`;
    case "enum":
      return draw.pick(values);
    case "enumList":
      return draw.some(values, 0, 3);
    case "json":
      return draw.pick<Json>([
        { a: 1 },
        [],
        {},
        [null],
        "text",
        0,
        false,
        { $set: { "a.b": null } },
        { id: { x: [1, "2"] } },
      ]);
    case "uuid":
      return draw.pick(UUIDS) + draw.int(0, 9);
    case "objectId":
      return `0123456789abcdef0123456${draw.pick(["0", "7", "a", "f"])}`;
  }
}

export const anyBlueprint = drawn(blueprint);

function blueprint(draw: Draw): Blueprint {
  const tables: TableBlueprint[] = [];
  const count = draw.pick([2, 2, 3, 3, 4]);
  for (let at = 0; at < count; at += 1) tables.push(table(draw, at, tables));
  return { tables };
}

function table(draw: Draw, at: number, earlier: readonly TableBlueprint[]): TableBlueprint {
  const name = `t${at}`;
  const columns = draw.some(COLUMN_TYPES, 2, 6).map((type) => column(draw, type));
  if (draw.chance(30)) columns.push({ ...column(draw, "string"), name: "name" });
  if (draw.chance(12))
    columns.push({ ...column(draw, draw.pick(["string", "int"])), name: "secret", hidden: true });
  if (draw.chance(20))
    columns.push({ name: "code", type: draw.pick(["int", "string", "datetime"]), unique: true });
  const size = draw.weighted({ none: 4, few: 92, many: 4 });
  const count = size === "none" ? 0 : size === "many" ? 160 : draw.pick([1, 3, 5, 8, 12, 12, 14, 14, 25]);
  const targets = [...earlier.filter(({ rows }) => rows.length > 0), undefined];
  const relations = draw.times(at === 0 ? 0 : 1, 3, (index) =>
    relation(draw, `${name}r${index}`, name, draw.pick(targets), count),
  );
  const sizes = new Map(earlier.map((one) => [one.name, one.rows.length]));
  const rows = withLinks(draw, relations, count, (target) => sizes.get(target) ?? count);
  const pools = columns.map((one) => draw.times(1, 6, () => valueOfType(draw, one)));
  const indexable = columns.filter(
    ({ type, unique }) => type !== "json" && type !== "enumList" && unique !== true,
  );
  const indexes = draw.chance(30)
    ? [draw.some(indexable, 1, 2).map(({ name: column }) => (draw.chance(40) ? "-" : "") + column)]
    : [];
  const softDelete = relations.every(({ counted }) => counted !== true) && draw.chance(50);
  const isDeleted = () => (softDelete && draw.chance(25) ? { deleted: true } : {});
  return {
    name,
    softDelete,
    idType: draw.pick(["objectId", "objectId", "uuid", "int"]),
    columns,
    relations,
    indexes: indexes.filter((one) => one.length > 0),
    rows: rows.map((links, index) => ({ ...row(draw, columns, pools, index), links, ...isDeleted() })),
  };
}

function column(draw: Draw, type: ColumnType): Column {
  const isEnum = type === "enum" || type === "enumList";
  const isText = type === "string" || type === "text";
  return {
    name: `${type}1`,
    type,
    ...(isEnum ? { values: draw.some(MEMBERS, 2, 5) } : {}),
    ...(isText && draw.chance(60) ? { searchable: true } : {}),
  };
}

/** A value that no other row has, in an order of its own. */
function onlyValue(type: ColumnType, index: number): Json {
  const number = (index * 7919) % 1009;
  if (type === "int") return number;
  return type === "string" ? `c${number}` : new Date(number * 86_400_000).toISOString();
}

function relation(
  draw: Draw,
  name: string,
  owner: string,
  target: TableBlueprint | undefined,
  size: number,
): RelationBlueprint {
  const type = draw.pick([
    "many-to-one",
    "many-to-one",
    "one-to-one",
    "many-to-many",
    "many-to-many",
  ] as const);
  const inverse = draw.chance(75) ? `${name}Back` : undefined;
  const enough = type === "many-to-one" || (target !== undefined && target.rows.length >= size);
  const required = target !== undefined && type !== "many-to-many" && enough && draw.chance(30);
  const ways: RelationBlueprint["written"][] = target === undefined ? ["patch"] : ["create", "patch"];
  if (inverse !== undefined) ways.push("inverse");
  return {
    name,
    type,
    table: target?.name ?? owner,
    ...(inverse === undefined ? {} : { inverse }),
    ...(inverse !== undefined && type !== "one-to-one" && draw.chance(50) ? { counted: true } : {}),
    ...(required ? { required: true, written: "create" } : { written: draw.pick(ways) }),
  };
}

type Links = Record<string, readonly number[]>;

/** Links of each row; a one-to-one gives a target to one row only. */
function withLinks(
  draw: Draw,
  relations: readonly RelationBlueprint[],
  size: number,
  sizeOf: (table: string) => number,
): Links[] {
  const rows: Links[] = Array.from({ length: size }, () => ({}));
  for (const { name, type, table: target, required } of relations) {
    const positions = Array.from({ length: sizeOf(target) }, (_, at) => at);
    // A few favourites, so that some records have many related ones and others none.
    const favourites = positions.slice(0, draw.int(1, 4));
    const free = draw.some(positions, positions.length, positions.length);
    for (const links of rows) {
      const wanted = required === true || draw.chance(72);
      if (!wanted || positions.length === 0) continue;
      if (type === "one-to-one") links[name] = free.splice(0, 1);
      else if (type === "many-to-one") links[name] = [draw.pick(draw.chance(60) ? favourites : positions)];
      else links[name] = draw.some(positions, 0, draw.pick([1, 2, 4, 12]));
    }
  }
  return rows;
}

function row(
  draw: Draw,
  columns: readonly Column[],
  pools: readonly (readonly Json[])[],
  index: number,
): Omit<RowBlueprint, "links"> {
  const values: Record<string, Json> = {};
  const erased: Record<string, Json> = {};
  for (const [at, { name, type, unique }] of columns.entries()) {
    const value = unique === true ? onlyValue(type, index) : draw.pick(pools[at] ?? []);
    const fate = draw.weighted({ kept: 76, null: 10, missing: 10, erased: 4 });
    if (fate === "kept") values[name] = value;
    if (fate === "null") values[name] = null;
    if (fate === "erased") erased[name] = value;
  }
  return { values, erased };
}
