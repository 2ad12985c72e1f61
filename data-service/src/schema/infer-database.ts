// `npm run schema -- infer`: reads what other programs keep in a database, and says which tables would show it.
import { type LinkAnswer, linkQuestions } from "../catalog/infer/infer-links.js";
import { type Inferred, inferTables } from "../catalog/infer/infer-tables.js";
import type { CollectionProfile } from "../catalog/infer/profile.js";
import type { DatabaseReader } from "../mongo/read-profile.js";

/**
 * Looks at every collection that holds somebody's data. Writes nothing.
 * @param systemPrefix SYSTEM_TABLE_PREFIX
 */
export async function inferDatabase(reader: DatabaseReader, systemPrefix: string): Promise<Inferred> {
  const { collections, left } = await reader.list();
  const served = await reader.tables();
  // One after the other: the database may be busy serving others.
  const profilesOf = async (names: readonly string[]): Promise<CollectionProfile[]> => {
    const profiles: CollectionProfile[] = [];
    for (const name of names) profiles.push(await reader.profile(name));
    return profiles;
  };
  const profiles = await profilesOf(collections);
  const targets = profiles.length === 0 ? [] : await profilesOf(served.map(({ collection }) => collection));
  const answers: LinkAnswer[] = [];
  for (const question of linkQuestions(profiles, targets)) answers.push(await reader.answer(question));
  const { tables, notes } = inferTables(profiles, answers, { systemPrefix, served });
  return { tables, notes: [...notes, ...left.map((line) => `${line}, left out`)] };
}
