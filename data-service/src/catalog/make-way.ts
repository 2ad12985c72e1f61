// Renames members that a change added if members that come back need their names.
import type { TableDefinition } from "./definition.js";
import { freeMemberName } from "./names.js";

type Members = Pick<TableDefinition, "columns" | "relations">;

/** A name that a member has in a table: in its own, or at the other end of a relation. */
interface Claim {
  readonly member: string;
  readonly table: string;
  readonly name: string;
}

/**
 * The members, with each name used once. A member that comes back keeps its name; a member that was renamed since it was
 * added got its name on purpose, and keeps it, too.
 * @param own the table's name
 * @param added the members that are new, as they were added
 * @param isTaken whether something else has this name in the table
 */
export function makeWay(
  own: string,
  members: Members,
  added: Members,
  isTaken: (table: string, name: string) => boolean,
): Members {
  const newOnes = new Set(claimsOf(own, added).map(claimKey));
  const isNew = (claim: Claim): boolean => newOnes.has(claimKey(claim));
  const claims = claimsOf(own, members);
  const needed = new Set(claims.filter((each) => !isNew(each)).map(place));
  const claimed = new Set(claims.map(place));
  const nameFor = (claim: Claim): string => {
    if (!isNew(claim) || !needed.has(place(claim))) return claim.name;
    const { table } = claim;
    const isClaimed = (name: string): boolean => claimed.has(place({ table, name })) || isTaken(table, name);
    const name = freeMemberName(claim.name, isClaimed);
    claimed.add(place({ table, name }));
    return name;
  };
  return {
    columns: members.columns.map((each) => ({ ...each, name: nameFor(ownClaim(own, each)) })),
    relations: members.relations.map((each) => {
      const { id, table, inverse } = each;
      const otherEnd = inverse === null ? null : nameFor({ member: id, table, name: inverse });
      return { ...each, name: nameFor(ownClaim(own, each)), inverse: otherEnd };
    }),
  };
}

function claimsOf(own: string, { columns, relations }: Members): Claim[] {
  const otherEnds = relations.flatMap(({ id, table, inverse }): Claim[] =>
    inverse === null ? [] : [{ member: id, table, name: inverse }],
  );
  return [...[...columns, ...relations].map((each) => ownClaim(own, each)), ...otherEnds];
}

function ownClaim(own: string, { id, name }: { readonly id: string; readonly name: string }): Claim {
  return { member: id, table: own, name };
}

function claimKey(claim: Claim): string {
  return `${claim.member} ${place(claim)}`;
}

function place({ table, name }: Pick<Claim, "table" | "name">): string {
  return `${table}.${name}`;
}
