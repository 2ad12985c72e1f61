// One case of test/corpora/filters-bad.json, and the request it stands for: its generators are spelled out in the
// corpus' own `meta.valueGenForms`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { projectRoot } from "../../support/run-state.js";

interface Nested {
  readonly param: string;
  readonly open: string;
  readonly close: string;
  readonly depth: number;
  readonly leaf: string;
}

interface Listed {
  readonly param: string;
  readonly list: string;
  readonly sep?: string;
  readonly times: number;
  readonly wrap: readonly [before: string, after: string];
}

interface Repeated {
  /** A parameter, then the way inside its JSON. */
  readonly path: string;
  readonly repeat: string;
  readonly times: number;
}

export interface HostileCase {
  readonly id: string;
  readonly class: string;
  readonly why: string;
  readonly expect: "reject400" | "literal";
  /** Other statuses that are fine, or success. */
  readonly alsoOk?: "literal" | readonly number[];
  readonly expectIds?: readonly number[];
  readonly method?: string;
  readonly path: string;
  /** The path is the whole request target. */
  readonly rawTarget?: boolean;
  readonly query?: Readonly<Record<string, string>>;
  readonly rawQuery?: string;
  readonly valueGen?: Nested | Listed | Repeated;
  readonly body?: unknown;
  readonly rawBody?: boolean;
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly cookie?: string;
  readonly maxMs?: number;
  readonly sameErrorAs?: string;
}

export interface Note {
  readonly id: number;
  readonly title: string;
  readonly views: number;
  readonly published: boolean;
}

const corpus = JSON.parse(readFileSync(join(projectRoot, "test/corpora/filters-bad.json"), "utf8"));

export const HOSTILE_CASES: readonly HostileCase[] = corpus.cases;
export const NOTES: readonly Note[] = corpus.meta.fixture.notesRows;

/** The parameters of a case, with the generated one. */
export function parametersOf({ query = {}, valueGen }: HostileCase): Record<string, string> {
  if (valueGen === undefined) return { ...query };
  if ("path" in valueGen) return { ...query, ...replaced(query, valueGen) };
  return { ...query, [valueGen.param]: "list" in valueGen ? listed(valueGen) : nested(valueGen) };
}

function nested({ open, close, depth, leaf }: Nested): string {
  return open.repeat(depth) + leaf + close.repeat(depth);
}

function listed({ list, sep = ",", times, wrap: [before, after] }: Listed): string {
  return (
    before + Array.from({ length: times }, (_, at) => list.replaceAll("#", String(at))).join(sep) + after
  );
}

function replaced(query: Readonly<Record<string, string>>, { path, repeat, times }: Repeated) {
  const [param = "", ...steps] = path.split(".");
  const json = JSON.parse(query[param] ?? "{}");
  const last = steps.pop() ?? "";
  const holder = steps.reduce((inner, step) => inner[step], json);
  holder[last] = repeat.repeat(times);
  return { [param]: JSON.stringify(json) };
}

/** The text behind `?`. */
export function searchOf(hostile: HostileCase): string {
  const { rawQuery } = hostile;
  const generated = /^GEN:(.*)\*(\d+)$/.exec(rawQuery ?? "");
  if (generated !== null) {
    const [, pair = "", times] = generated;
    return Array.from({ length: Number(times) }, (_, at) => pair.replaceAll("#", String(at))).join("");
  }
  if (rawQuery !== undefined) return rawQuery;
  return Object.entries(parametersOf(hostile))
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&");
}

/** The bytes of the body; undefined when the case has none. */
export function bodyOf({ body, rawBody }: HostileCase): Buffer | undefined {
  if (body === undefined) return undefined;
  if (!rawBody) return Buffer.from(JSON.stringify(body));
  const text = String(body);
  const zeros = /^GEN:gzip\(zeros\*(\d+)\)$/.exec(text)?.[1];
  if (zeros !== undefined) return gzipSync(Buffer.alloc(Number(zeros)), { level: 1 });
  if (!text.startsWith("GEN:")) return Buffer.from(text);
  const arrays = (_: string, times: string) => "[".repeat(Number(times)) + "]".repeat(Number(times));
  return Buffer.from(
    text
      .slice("GEN:".length)
      .replace(/\[\*(\d+)\]/g, arrays)
      .replace(/(.)\*(\d+)/g, (_, character: string, times: string) => character.repeat(Number(times))),
  );
}
