// Combines predicates, and works out at once what is the same for every record: what is always true says nothing in an "and",
// and what is never true says nothing in an "or". So whoever asks for `always` hears of it. Pure.
import { ALWAYS, type Combined, type Constant, NEVER, type Negated } from "./ast.js";

/** Anything that predicates are made of. */
interface Part {
  readonly kind: string;
}

/** All of them; always true where there are none. */
export function conjunction<P extends Part>(of: readonly P[]): P | Constant | Combined<P> {
  return combined("and", of, { neutral: ALWAYS, deciding: NEVER });
}

/** One of them at least; never true where there are none. */
export function disjunction<P extends Part>(of: readonly P[]): P | Constant | Combined<P> {
  return combined("or", of, { neutral: NEVER, deciding: ALWAYS });
}

/** The opposite, as in SQL: what is unknown stays so. */
export function negation<P extends Part>(of: P): P | Constant | Negated<P> {
  switch (of.kind) {
    case "always":
      return NEVER;
    case "never":
      return ALWAYS;
    case "unknown":
      return of;
    default:
      return { kind: "not", of };
  }
}

function combined<P extends Part>(
  kind: Combined<P>["kind"],
  of: readonly P[],
  { neutral, deciding }: { readonly neutral: Constant; readonly deciding: Constant },
): P | Constant | Combined<P> {
  if (of.some((each) => each.kind === deciding.kind)) return deciding;
  const saying = of.filter((each) => each.kind !== neutral.kind);
  const [only] = saying;
  if (only === undefined) return neutral;
  return saying.length === 1 ? only : { kind, of: saying };
}
