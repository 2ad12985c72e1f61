// Hand-written faults in the query compiler, one row each. Every one must make a suite fail; see docs/testing.md.
// The texts are those of the built files, where a fault needs no build.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of code that hold templates

export interface Fault {
  readonly name: string;
  /** In data-service/dist. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

export const FAULTS: readonly Fault[] = [
  {
    name: "null logic: null counts as not equal",
    file: "query/lower/condition.js",
    find: "{ $nin: [test.value, null] }",
    replace: "{ $ne: test.value }",
  },
  {
    name: "_not_in finds null",
    file: "query/lower/condition.js",
    find: "{ $nin: [...test.values, null] }",
    replace: "{ $nin: [...test.values] }",
  },
  {
    name: "_not over _and does not change it to _or",
    file: "query/lower/condition.js",
    find: '(predicate.kind === "and") === wanted ? allOf : anyOf',
    replace: 'predicate.kind === "and" ? allOf : anyOf',
  },
  {
    name: "to-many: none is read as one that does not match",
    file: "query/lower/condition.js",
    find: 'wanted || predicate.kind === "exists" || predicate.relation.many',
    replace: 'wanted || predicate.kind === "exists"',
  },
  {
    name: "to-one: no record counts as one that does not match",
    file: "query/lower/condition.js",
    find: 'wanted || predicate.kind === "exists" || predicate.relation.many',
    replace: "true",
  },
  {
    name: "_starts_with finds text anywhere",
    file: "query/lower/condition.js",
    find: "new BSONRegExp(`\\\\A${literal}`",
    replace: "new BSONRegExp(`${literal}`",
  },
  {
    name: "_between leaves out its upper bound",
    file: "query/operators.js",
    find: '{ op: "lte", value: to }',
    replace: '{ op: "lt", value: to }',
  },
  {
    name: "text is taken for a number",
    file: "catalog/column-types.js",
    find: '(Number.isSafeInteger(json) && typeof json === "number" ? json : undefined)',
    replace: '(json !== "" && Number.isSafeInteger(Number(json)) ? Number(json) : undefined)',
  },
  {
    name: "id does not close the sort",
    file: "query/bind-sort.js",
    find: "return [...keys, closing].filter(",
    replace: "return (keys.length > 0 ? keys : [closing]).filter(",
  },
  {
    name: "the closing id descends with the key before it",
    file: "query/bind-sort.js",
    find: "column: scope.table.idColumn, descending: false }",
    replace: "column: scope.table.idColumn, descending: keys.at(-1)?.descending ?? false }",
  },
  {
    name: "nulls come first in a descending sort",
    file: "query/lower/sort.js",
    find: "return { joins: [], keys: [[key.column.field, direction]] };",
    replace:
      "return { joins: [{ $set: { __null: { $eq: [{ $ifNull: [`$${key.column.field}`, null] }, null] } } }]," +
      ' keys: [["__null", -1], [key.column.field, direction]] };',
  },
  {
    name: "_max and _min by join: no value comes first when descending",
    file: "query/lower/sort.js",
    find: "[missing, 1]",
    replace: "[missing, direction]",
  },
  {
    name: "_max and _min by grouping: no value comes first when descending",
    file: "query/lower/rank.js",
    find: "[[`m${at}`, 1], value]",
    replace: "[[`m${at}`, direction], value]",
  },
  {
    name: "_max by window: a tie that the window cuts is believed",
    file: "query/plan/window.js",
    find: '{ $ne: ["$value", "$edge"] }',
    replace: "true",
  },
  {
    name: "a page begins one page too late",
    file: "query/syntax/paging.js",
    find: "(page - 1) * limit",
    replace: "page * limit",
  },
  {
    name: "deep: limit does not hold for each parent",
    file: "query/plan/together.js",
    find: "list.slice(skip, skip + limit)",
    replace: "list",
  },
  {
    name: "deep by join: limit does not hold for each parent",
    file: "query/lower/read.js",
    find: "return [...sortedMatches(node, rules, names), ...cut(node), ...output(node, rules, names)];",
    replace: "return [...sortedMatches(node, rules, names), ...output(node, rules, names)];",
  },
  {
    name: "deep: children that were left out are missing",
    file: "query/plan/together.js",
    find: "found.length < most",
    replace: "true",
  },
  {
    name: "_max by a glance: a tie that the glance cuts is believed",
    file: "query/plan/window.js",
    find: "isWhole || value !== edge",
    replace: "true",
  },
  {
    name: "_max by a glance: ties are not ordered by id",
    file: "query/plan/window.js",
    find: "one.text < other.text ? -1 : 1",
    replace: "one.text < other.text ? 1 : -1",
  },
  {
    name: "filterCount does not see the filter",
    file: "query/lower/count.js",
    find: 'which === "filterCount" ? [root.rule, root.filter] : [root.rule]',
    replace: "[root.rule]",
  },
  {
    name: "an aggregate counts nulls",
    file: "query/lower/aggregate.js",
    find: "null] }, null] }, 0, 1] } }",
    replace: "null] }, null] }, 1, 1] } }",
  },
  {
    name: "a count in fields counts hidden children",
    file: "query/lower/read.js",
    find: "...matchStages([rules(target)], new Names()),",
    replace: "",
  },
  {
    name: "a count in fields by join counts hidden children",
    file: "query/lower/sort.js",
    find: '[...matchStages([rule], names), { $count: "value" }]',
    replace: '[{ $count: "value" }]',
  },
  {
    name: "a parent without children has no count",
    file: "query/shape.js",
    find: "Number(document[field] ?? 0)",
    replace: "document[field] ?? null",
  },
  {
    name: "an all-but scope ignores a count",
    file: "query/bind-query.js",
    find: "[...(fields?.counts ?? [])]",
    replace: "[...((fields?.excluded.size ?? 0) > 0 ? [] : (fields?.counts ?? []))]",
  },
  {
    name: "hidden columns are part of *",
    file: "permission/read-view.js",
    find: '!column.hidden && this.#may(table, column, "show")',
    replace: 'this.#may(table, column, "show")',
  },
  {
    name: "inside a relation id is missing",
    file: "query/bind-query.js",
    find: "depth > 0 || columns.includes(table.idColumn)",
    replace: "columns.includes(table.idColumn)",
  },
];
