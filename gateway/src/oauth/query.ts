// The query of an OAuth address -> single values by name. Pure.
import { AppError } from "@portico/shared/app-error";

/** Only names that are ours; a Map, so that `__proto__` is a name like any other. */
export type OAuthQuery = ReadonlyMap<string, string>;

/** @throws AppError BAD_REQUEST when one of the names comes twice, or with a suffix such as `redirect[]` */
export function readOAuthQuery(url: string, names: readonly string[]): OAuthQuery {
  const question = url.indexOf("?");
  const parameters = new URLSearchParams(question === -1 ? "" : url.slice(question + 1));
  const values = new Map<string, string>();
  for (const [name, value] of parameters) {
    const wanted = names.find((each) => name === each || name.startsWith(`${each}[`));
    if (wanted === undefined) continue;
    if (name !== wanted || values.has(name)) {
      throw new AppError("BAD_REQUEST", `${wanted}: give it once, as plain text`);
    }
    values.set(name, value);
  }
  return values;
}
