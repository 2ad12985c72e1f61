// A JSON schema of the OpenAPI document -> values that fit it, mostly, and values that nobody should send.
import fc from "fast-check";

/** As far as the document uses it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly format?: string;
}

/** Beyond this, relations of relations would go on for ever. */
const MAX_DEPTH = 4;
/** Of eight values at any place, how many are none that the schema has. */
export type Odd = 0 | 1;
const OF = 8;

const ODD_TEXTS = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "__proto__",
  "$where",
  "../..",
  "x".repeat(5_000),
  "💥",
  "a\r\nb",
];
const ODD_NUMBERS = [0, -1, 1.5, 1e308, -1e308, 2 ** 53, 2 ** 31, 1e-7];

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, [], {}, [[]], { $gt: "" }, { constructor: 1 }, { _eq: { _eq: 1 } }),
  fc.constantFrom<unknown>(JSON.parse('{"__proto__":{"a":1}}'), [null], "null", { length: 1, 0: 1 }),
  fc.constantFrom(...ODD_TEXTS),
  fc.constantFrom(...ODD_NUMBERS),
  fc.jsonValue({ maxDepth: 3 }),
);

const text: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "a",
    "title",
    "notes",
    "-title",
    "id,title",
    "1",
    "true",
    "2026-01-02T03:04:05.006Z",
    "2026-01-02",
  ),
  fc.constantFrom("0123456789abcdef01234567", "ann@example.com", "12.50", "_count(comments)", "*"),
  fc.string({ maxLength: 20, unit: "binary" }),
);

const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  date: fc.constantFrom("2026-02-28", "0001-01-01"),
  "date-time": fc.constantFrom("2026-02-28T23:59:59.999Z", "1969-12-31T23:00:00-01:00"),
  uuid: fc.uuid(),
  email: fc.emailAddress(),
};

/** @param schemas what `#/components/schemas/…` refers to */
export function valuesOf(
  schemas: Readonly<Record<string, Schema>>,
  schema: Schema,
  odd: Odd,
  depth = 0,
): fc.Arbitrary<unknown> {
  const fitting = depth > MAX_DEPTH ? fc.constant({}) : fittingValues(schemas, schema, odd, depth);
  return fc.oneof({ arbitrary: fitting, weight: OF - odd }, { arbitrary: oddValue, weight: odd });
}

function fittingValues(
  schemas: Readonly<Record<string, Schema>>,
  schema: Schema,
  odd: Odd,
  depth: number,
): fc.Arbitrary<unknown> {
  const inner = (each: Schema): fc.Arbitrary<unknown> => valuesOf(schemas, each, odd, depth + 1);
  if (schema.$ref !== undefined) return inner(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map(inner));
  return fc.oneof(...[schema.type ?? "object"].flat().map((type) => ofType(type, schema, inner)));
}

function ofType(
  type: string,
  { items, properties = {}, required = [], format = "" }: Schema,
  inner: (schema: Schema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  if (type === "string") return FORMATS[format] ?? text;
  if (type === "integer") return fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer());
  if (type === "number") return fc.double({ noNaN: true, noDefaultInfinity: true });
  if (type === "boolean") return fc.boolean();
  if (type === "null") return fc.constant(null);
  if (type === "array") return fc.array(inner(items ?? {}), { maxLength: 3 });
  const members = Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, inner(each)]));
  return fc.record(members, { requiredKeys: required.filter((name) => name in members) });
}
