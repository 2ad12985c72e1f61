/** A list in pieces of at most this length, in its order; none of an empty one. */
export function piecesOf<Each>(list: readonly Each[], length: number): Each[][] {
  const count = Math.ceil(list.length / length);
  return Array.from({ length: count }, (_, at) => list.slice(at * length, (at + 1) * length));
}

/** A source that has nothing but this. */
export async function* only<Some>(some: Some): AsyncGenerator<Some> {
  yield some;
}
