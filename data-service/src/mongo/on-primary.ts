// How far a write goes that must not hang because the other members of a set don't confirm it: to the disk of the primary.

export const ON_PRIMARY = { writeConcern: { w: 1, journal: true } } as const;
